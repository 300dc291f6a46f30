import { readFileSync } from 'node:fs';
import { describeEnvironment } from '../../facade/config/config.ts';
import { metricsRoute, routes } from '../../facade/routes.ts';
import { importedRows } from '../../resources/imported-rows.ts';
import { catalog } from '../../tools/catalog.ts';
import { mayNeedFresh } from '../../tools/core/access/fresh.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { WEBHOOK_TOOL } from '../../tools/core/access/webhook-principal.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';

export interface GeneratedFile {
  /** From the top of the project. */
  readonly path: string;
  readonly text: string;
}

/** Every file that is made from the code, as it should be now. */
export function generated(): GeneratedFile[] {
  const wire = catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => listedTool(tool));
  return [
    {
      path: 'tools/README.md',
      text: withSections('tools/README.md', { rows: rowsTable(), fresh: freshTools(), tools: toolTable() }),
    },
    { path: 'facade/README.md', text: withSections('facade/README.md', { configuration: configurationTable() }) },
    { path: 'test/contract/snapshots/tools-list.json', text: `${JSON.stringify(wire, null, 2)}\n` },
  ];
}

/** The file with its generated sections as they should be now. */
function withSections(path: string, sections: Readonly<Record<string, string>>): string {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return Object.entries(sections).reduce((made, [name, content]) => withSection(path, made, name, content), text);
}

function withSection(path: string, text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name}: generated -->`, `<!-- end of ${name} -->`];
  const [before, rest] = text.split(start);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined)
    throw new Error(`${path} has no section between ${start} and ${end}.`);
  return `${before}${start}\n${content}\n${end}${after}`;
}

/** How a tool without a path is called. */
function doorOf({ name, doorOnly }: Tool): string {
  if (name === WEBHOOK_TOOL) return 'a signed delivery';
  return doorOnly ? 'a page' : 'MCP only';
}

function toolTable(): string {
  const rows = catalog.entries.map(({ group, tool }) => {
    const paths = [...routes, metricsRoute]
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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
