import { readFileSync } from 'node:fs';
import { describeEnvironment } from '../../facade/config/config.ts';
import { hostSteps } from '../../facade/oauth/host-steps.ts';
import { errorAnswers } from '../../facade/openapi/error-responses.ts';
import { approvalRoutes, fileRoutes, metricsRoute, routes } from '../../facade/routes.ts';
import { type ErrorCode, errorStatus } from '../../resources/error.ts';
import { importedRows } from '../../resources/imported-rows.ts';
import { catalog } from '../../tools/catalog.ts';
import { mayNeedFresh } from '../../tools/core/access/fresh-sign-in.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { WEBHOOK_TOOL } from '../../tools/core/access/principal.ts';
import { CIRCUIT_GAUGES } from '../../tools/core/models/circuits.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';
import { Measures } from '../../tools/core/telemetry/measures.ts';
import { Counter, Histogram } from '../../tools/core/telemetry/meter.ts';
import { prometheusLabel, prometheusName } from '../../tools/core/telemetry/prometheus.ts';
import { STORE_GAUGES } from '../../tools/core/telemetry/store-gauges.ts';
import { EMBEDDING_GAUGES } from '../../tools/embeddings/measure-embeddings.ts';
import { doorLimits } from './door-limits.ts';
import { manifests } from './manifests.ts';
import { breakingChanges, requireMajor, surface } from './surface.ts';
import { toolLimits } from './tool-limits.ts';

export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

export function generated(): GeneratedFile[] {
  const wire = catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => listedTool(tool));
  return [
    ...Object.entries(sections).map(([name, make]) => {
      const path = `facade/guides/reference-${PAGES[name] ?? name}.md`;
      return { path, text: withSection(path, name, make()) };
    }),
    { path: 'README.md', text: withSection('README.md', 'hosts', hostList()) },
    ...manifests(),
    { path: 'test/contract/snapshots/tools-list.json', text: `${JSON.stringify(wire, null, 2)}\n` },
  ];
}

export function releasedSurface(): GeneratedFile {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const path = 'test/contract/released.json';
  const before = JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
  const now = surface();
  requireMajor(before.version, version, breakingChanges(before, now));
  return { path, text: `${JSON.stringify({ version, ...now })}\n` };
}

/** By the mark around it, what the section of a reference page says. */
const sections: Readonly<Record<string, () => string>> = {
  configuration: configurationTable,
  errors: errorTable,
  fresh: freshTools,
  licences: licenceTable,
  limits: limitTables,
  metrics: metricTable,
  rows: rowsTable,
  tools: toolTable,
};
const PAGES: Readonly<Record<string, string>> = { fresh: 'access', rows: 'imports' };

/** The file with its generated section as it should be now. */
function withSection(path: string, name: string, content: string): string {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- end of ${name} -->`];
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${path} has no section between ${start} and ${end}.`);
  return `${before}${start}\n${content}\n${end}${after}`;
}

function hostList(): string {
  const items = hostSteps('<address>').map(({ name, steps }) => [
    `- **${name}**`,
    ...steps.map((step) => `  1. ${step}`),
  ]);
  return items.flat().join('\n');
}

function doorOf({ name, doorOnly }: Tool): string {
  if (name === WEBHOOK_TOOL) return 'a signed delivery';
  return doorOnly ? 'a page' : 'MCP only';
}

function toolTable(): string {
  const rows = catalog.entries.map(({ group, tool }) => {
    const paths = [...routes, ...fileRoutes, ...approvalRoutes, metricsRoute]
      .filter((route) => route.tool === tool.name)
      .map(({ method, path }) => `\`${method} ${path}\``);
    return [group, `\`${tool.name}\``, paths.join('<br>') || doorOf(tool), ...rightsOf(tool)];
  });
  return table(['group', 'tool', 'REST', 'scope', 'grant'], rows);
}

function rightsOf({ access, session }: Tool): [string, string] {
  if (session === 'begins') return ['its ID token', ''];
  if (access === ANYONE) return ['any key', ''];
  if ('among' in access) return ['as its record', 'as its record'];
  return [`\`${access.scope}\``, `\`${(access.fullAccess ? ['*'] : [access.grant].flat()).join('`, `')}\``];
}

/** The tools that need a fresh sign-in: for every call, or for those that make something lasting. */
function freshTools(): string {
  const tools = catalog.entries.map(({ tool }) => tool).filter(mayNeedFresh);
  const isAlways = ({ answersSecret, lasting }: Tool) => answersSecret === true || lasting?.of === undefined;
  const named = ({ name, lasting }: Tool) => `\`${name}\`${lasting?.of ? ` (${lasting.what})` : ''}`;
  const list = (of: readonly Tool[]) => of.map(named).join(', ');
  return `Always: ${list(tools.filter(isAlways))}.\n\nDepending on the input: ${list(tools.filter((tool) => !isAlways(tool)))}.`;
}

function rowsTable(): string {
  const rows = Object.entries(importedRows).map(([type, { schema }]) => {
    const members = Object.entries(schema.shape).map(([name, member]) => ({ name, optional: member.isOptional() }));
    const names = (optional: boolean) =>
      members.filter((member) => member.optional === optional).map(({ name }) => `\`${name}\``);
    return [type, names(false).join(', '), names(true).join(', ')];
  });
  return table(['type', 'required', 'optional'], rows);
}

function configurationTable(): string {
  const rows = describeEnvironment().map(({ name, fallback, meaning }) => [
    `\`${name}\``,
    fallback && `\`${fallback}\``,
    meaning,
  ]);
  return table(['variable', 'default', 'meaning'], rows);
}

function errorTable(): string {
  const codes = Object.entries(errorStatus) as [ErrorCode, number][];
  const rows = codes.map(([code, status]) => [`\`${code}\``, `${status}`, errorAnswers[code].description]);
  return table(['code', 'status', 'meaning'], rows);
}

function limitTables(): string {
  return Object.entries({ ...doorLimits, ...toolLimits })
    .map(([title, rows]) => `## ${title}\n\n${table(['what', 'limit'], rows)}`)
    .join('\n\n');
}

function metricTable(): string {
  const counted = Object.values(new Measures()).filter((each) => each instanceof Counter || each instanceof Histogram);
  const rows = [...counted.map((each) => each.read()), ...STORE_GAUGES, ...CIRCUIT_GAUGES, ...EMBEDDING_GAUGES].map(
    (measured) => {
      const labels = (measured.measure.labels ?? []).map((label) => `\`${prometheusLabel(label)}\``);
      return [`\`${prometheusName(measured)}\``, measured.kind, measured.measure.help, labels.join(', ')];
    },
  );
  return table(['metric', 'type', 'meaning', 'labels'], rows);
}

/** Of what is installed with the server, as the lock file says. */
function licenceTable(): string {
  const { packages } = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8'));
  const used = Object.entries<LockedPackage>(packages).filter(
    ([path, { dev, devOptional, link }]) => path.startsWith('node_modules/') && !dev && !devOptional && !link,
  );
  const rows = used.map(([path, { version, license }]) => [
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    license ?? 'unknown',
  ]);
  const known = new Map(rows.map((row) => [row.join(' '), row]));
  return table(
    ['package', 'version', 'licence'],
    [...known.values()].sort((one, other) => (one.join() < other.join() ? -1 : 1)),
  );
}

interface LockedPackage {
  readonly version: string;
  readonly license?: string;
  readonly dev?: true;
  readonly devOptional?: true;
  readonly link?: true;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
