import { z } from 'zod';
import { APP_SCOPES } from '../../resources/connected-app.ts';
import { timestamp } from '../../resources/fields.ts';
import type { Readers } from '../../store/port.ts';
import { concerns, formatGrant, type Grant, grantAllows, grantCovers } from '../core/access/grants.ts';
import { ANYONE, isListed } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { seesTool } from '../core/access/reach.ts';
import { accessFor, requirementFor } from '../core/access/requirement.ts';
import type { Requirement } from '../core/access/rights.ts';
import { scopesSatisfy } from '../core/access/scopes.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import type { Context } from '../core/registry/context.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import type { Tool } from '../core/registry/tool.ts';
import { type DraftRights, draftRights, type Subject, subjectIds, subjectNamed, subjectRef } from './draft.ts';
import { holderPrincipal, type JudgedCall, recordedCalls, replay } from './replay.ts';
import { days, since } from './replay-calls.ts';

export const suggestAccess = defineTool({
  name: 'suggest_access',
  title: 'Suggest access',
  description:
    'Suggest less access for a capsule, key, agent or app by its recorded calls: tools and grants never used, and the smallest rights that still allow what it did. Try them with replay_calls. Name exactly one.',
  keywords:
    'least privilege, unused permissions, rights never used, tighten access, right-size a token, over-privileged, reduce scopes, permission hygiene, access advisor',
  access: { scope: 'admin', grant: 'audit:read' },
  annotations: READS,
  input: z.strictObject({ ...subjectIds, days }),
  output: z.object({
    subject: subjectRef,
    from: timestamp,
    calls: z.int().min(0).describe('That its rights allow and that were not refused.'),
    unusedTools: z.array(z.string()).describe('Tools that it may call and did not.'),
    unusedGrants: z.array(z.string()).describe('Its grants, or scopes, that no call needed.'),
    smallest: draftRights.describe('The smallest rights that allow those calls, as a draft of replay_calls.'),
    warnings: z.array(z.string()).describe('What the suggestion cannot keep, or keeps for a reason.'),
  }),
  errors: ['not_found', 'conflict'],

  async handler({ days, ...named }, context) {
    const subject = await subjectNamed(named, context);
    const from = since(days, context.server.now());
    const entries = await recordedCalls(subject, from, context);
    const judged = await replay(entries, subject, {}, context);
    const used = judged.filter(({ verdict, entry }) => verdict === 'allowed' && entry.outcome !== 'denied');
    const own = await holderPrincipal(subject, {}, context);
    const reached = context.server.catalog.entries
      .map(({ tool }) => tool)
      .filter((tool) => isListed(tool) && seesTool(own, tool));
    const found = await suggestionFor(subject, { used, reached, own }, context);
    const lost = await lostBy(found.smallest, subject, used, context);
    const calledTools = new Set(used.map(({ entry }) => entry.tool));
    const unjudged = judged.filter(({ verdict }) => verdict === 'unknown').length;
    const { type, id, name } = subject;
    return {
      subject: { type, id, name },
      from,
      calls: used.length,
      unusedTools: reached.map((tool) => tool.name).filter((tool) => !calledTools.has(tool)),
      unusedGrants: found.unusedGrants,
      smallest: found.smallest,
      warnings: [
        ...found.warnings,
        ...(lost.size > 0 ? [`It would refuse recorded calls of ${[...lost].join(', ')}; see replay_calls.`] : []),
        ...(unjudged > 0 ? [`${unjudged} recorded calls cannot be judged and are not counted; see replay_calls.`] : []),
      ],
    };
  },
});

interface Found {
  readonly smallest: DraftRights;
  readonly unusedGrants: string[];
  readonly warnings: string[];
}

interface Use {
  readonly used: readonly JudgedCall[];
  readonly reached: readonly Tool[];
  readonly own: Principal;
}

type Asking = Context<Readers, 'not_found' | 'conflict'>;

async function suggestionFor(subject: Subject, use: Use, context: Asking): Promise<Found> {
  if (subject.type === 'capsule') return capsuleSuggestion(subject, use, context);
  if (subject.type === 'agent')
    return { smallest: { tools: toolsUsed(use) }, unusedGrants: [], warnings: acrossKinds(use) };
  if (subject.type === 'key') return keySuggestion(use, await requirementsOf(use, context));
  const { capsuleId, scopes } = await context.store.connectedApps.read(subject.id);
  if (capsuleId !== undefined) {
    return { smallest: {}, unusedGrants: [], warnings: [`Its capsule ${capsuleId} decides; ask for that.`] };
  }
  for (const length of scopes.keys()) {
    const fewer = APP_SCOPES.slice(0, length);
    if ((await lostBy({ scopes: fewer }, subject, use.used, context)).size > 0) continue;
    return { smallest: { scopes: fewer }, unusedGrants: scopes.slice(length), warnings: [] };
  }
  return { smallest: { scopes }, unusedGrants: [], warnings: [] };
}

/** The tools of calls that would be refused. */
async function lostBy(
  smallest: DraftRights,
  subject: Subject,
  used: readonly JudgedCall[],
  context: Asking,
): Promise<ReadonlySet<string>> {
  const entries = used.map(({ entry }) => entry);
  const tried = await replay(entries, subject, smallest, context);
  return new Set(tried.flatMap(({ entry, verdict }) => (verdict === 'refused' ? [entry.tool] : [])));
}

/** The tools that were called, and those for which others of them stand. */
function toolsUsed({ used, reached }: Use): string[] {
  const names = new Set<string>();
  for (const { tool, input } of used) {
    if (!tool || !reached.includes(tool)) continue;
    names.add(tool.name);
    const others = tool.actsAs && (input ? [tool.actsAs.of(input)] : tool.actsAs.tools);
    for (const other of others ?? [])
      if (other && reached.some(({ name }) => name === other.name)) names.add(other.name);
  }
  return reached.map(({ name }) => name).filter((name) => names.has(name));
}

function acrossKinds({ used }: Use): string[] {
  const across = new Set(used.flatMap(({ tool }) => (tool?.looksAcross ? [tool.name] : [])));
  return [...across].map((name) => `${name} finds only kinds of records for which it keeps a tool.`);
}

/** Fixed arguments of one tool also limit others, so such a tool stays where it limits one that was used: without it, they would reach more. */
async function capsuleSuggestion(subject: Subject, use: Use, { store }: Asking): Promise<Found> {
  const { constraints = {} } = await store.capsules.read(subject.id);
  const names = toolsUsed(use);
  const isLimited = ({ tool }: JudgedCall) =>
    tool && (tool.looksAcross || tool.actsAs || use.own.tools?.narrowed?.(tool) !== undefined);
  const kept = use.used.some(isLimited) ? use.reached.filter(({ name }) => Object.hasOwn(constraints, name)) : [];
  const limiting = kept.map(({ name }) => name).filter((name) => !names.includes(name));
  const all = use.reached.map(({ name }) => name).filter((name) => names.includes(name) || limiting.includes(name));
  const stays = limiting.map((name) => `${name} stays, because its fixed arguments limit what other tools reach.`);
  return { smallest: { allowedTools: all }, unusedGrants: [], warnings: [...stays, ...acrossKinds(use)] };
}

async function requirementsOf({ used }: Use, { store, server }: Asking): Promise<Requirement[]> {
  const subjects = subjectsIn(store, server.kinds);
  const found = new Map<string, Requirement>();
  for (const { tool, input, entry } of used) {
    const given = input ?? entry.arguments;
    const key = JSON.stringify([entry.tool, given]);
    if (!tool || tool.discovery || found.has(key)) continue;
    const access = accessFor(tool.access, given);
    if (access !== ANYONE) found.set(key, await requirementFor(access, given, subjects));
  }
  return [...found.values()];
}

/** Grants for each kind of record and operation that was needed, and of grants for some records, these. */
function keySuggestion({ own }: Use, requirements: readonly Requirement[]): Found {
  const { grants, scopes } = own;
  const needed = new Map<string, Grant>();
  const deciding = new Set<string>();
  for (const { needs, scope, full, narrows } of requirements) {
    const by = scopes.find((each) => scopesSatisfy([each], scope));
    if (by !== undefined) deciding.add(by);
    if (full) needed.set('*', { resource: '*', op: '*', id: '*' });
    for (const need of needs) {
      const covering = (grants ?? []).filter((grant) => grantAllows(grant, need));
      const about = narrows && !need.ids ? (grants ?? []).filter((grant) => concerns(grant, need)) : [];
      const from = covering.length > 0 ? covering.slice(0, 1) : about;
      for (const { id } of grants ? from : [{ id: '*' }]) {
        const grant = { resource: need.resource, op: need.op, id };
        needed.set(formatGrant(grant), grant);
      }
      for (const grant of from) deciding.add(formatGrant(grant));
    }
  }
  const all = [...needed.values()];
  const least = all.filter((grant) => !all.some((other) => other !== grant && grantCovers(other, grant)));
  const held = grants ? grants.map(formatGrant) : scopes;
  return {
    smallest: { scopes: [], grants: least.map(formatGrant).sort() },
    unusedGrants: held.filter((each) => !deciding.has(each)),
    warnings: own.rights.isAdmin
      ? ['With full access it sees restricted threads; with grants, those shared with it.']
      : [],
  };
}
