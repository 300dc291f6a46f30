import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { collections } from '../../store/collections.ts';
import type { AuditQuery, Readers } from '../../store/port.ts';
import { ASSISTANT, actingFor } from '../core/access/agent-principal.ts';
import { credentialStatus } from '../core/access/credential-status.ts';
import type { FixedArguments } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { mayCall, reachesFully, seesTool, withFixed } from '../core/access/reach.ts';
import { neededRights } from '../core/access/requirement.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { ToolError } from '../core/errors.ts';
import { withheldFrom } from '../core/history/withheld.ts';
import { looksLikeId } from '../core/registry/record-names.ts';
import type { Tool } from '../core/registry/tool.ts';
import { actingFlow } from '../flows/run-as.ts';
import { type DraftRights, type Subject, withDraft } from './draft.ts';
import { ANYBODY } from './holders.ts';
import { beyond, hiddenFrom, inputOf, type Judging, judgeCall, judgeTool } from './judge.ts';

/** What a recorded call would be answered. `unknown`: what the log keeps of it does not decide. */
export interface Verdict {
  readonly verdict: 'allowed' | 'refused' | 'unknown';
  readonly rule: string;
  readonly tool?: Tool;
  /** The arguments as the handler would get them, where they are known in full. */
  readonly input?: object | undefined;
  readonly principal?: Principal;
}

export interface JudgedCall extends Verdict {
  readonly entry: AuditEntry;
}

/** The newest of more are judged. */
export const MOST_CALLS = 10_000;
const PAGE = 500;
/** Calls that are judged before others have their turn. */
const AT_ONCE = 20;

type Replaying = Judging & { readonly principal: Principal };

/** The recorded calls of the subject since then, newest first: its own, and those made on its behalf. */
export async function recordedCalls(subject: Subject, from: string, caller: Replaying): Promise<AuditEntry[]> {
  const { store, server } = caller;
  const apps =
    subject.type === 'capsule'
      ? await store.connectedApps.find({ where: { capsuleId: subject.id }, limit: 1000 })
      : undefined;
  const queries: Omit<AuditQuery, 'limit'>[] = [
    ...[subject.id, ...(apps?.records ?? []).map(({ id }) => id)].map((principal) => ({ principal })),
    ...(['agent', 'flow'] as const).map((door) => ({ door })),
  ];
  const found = new Map<string, AuditEntry>();
  for (const query of queries) {
    let after: AuditQuery['after'];
    let looked = 0;
    do {
      const page = await server.audit.find({ ...query, from, limit: PAGE, after });
      for (const entry of page.records) if (isBy(entry, subject)) found.set(entry.id, entry);
      looked += page.records.length;
      after = page.next ?? undefined;
      await setImmediate();
    } while (after && looked <= MOST_CALLS);
  }
  const entries = [...found.values()].sort((one, other) => (one.id < other.id ? 1 : -1)).slice(0, MOST_CALLS);
  return [...(await withheldFrom(caller, entries))];
}

function isBy({ principal, onBehalfOf = [] }: AuditEntry, subject: Subject): boolean {
  return [principal, ...onBehalfOf].some(({ type, id }) => type === subject.principal && id === subject.id);
}

/** Judges the calls as they would be answered if the subject were what the draft says, by what stands in the store now. */
export async function replay(
  entries: readonly AuditEntry[],
  subject: Subject,
  draft: DraftRights,
  judging: Judging,
): Promise<JudgedCall[]> {
  const drafted = await withDraft(subject, draft, judging);
  const stored = subject.type === 'capsule' ? await judging.store.capsules.get(subject.id) : undefined;
  const known = new Map<string, Verdict>();
  const principals = new Map<string, Principal | string>();
  const judged: JudgedCall[] = [];
  for (const entry of entries) {
    const chain = chainKey(entry);
    const principal = principals.get(chain) ?? (await principalOf(entry, drafted));
    principals.set(chain, principal);
    const key = JSON.stringify([
      chain,
      entry.tool,
      entry.arguments,
      entry.withheld,
      entry.outcome === 'invalid',
      entry.at < subject.updatedAt,
    ]);
    const verdict = known.get(key) ?? (await judge(entry, principal, drafted));
    known.set(key, verdict);
    judged.push({ entry, ...verdict });
    if (judged.length % AT_ONCE === 0) await setImmediate();
  }
  return judged;

  async function judge(entry: AuditEntry, principal: Principal | string, on: Judging): Promise<Verdict> {
    if (typeof principal === 'string') return unknown(principal);
    const tool = on.server.catalog.get(entry.tool)?.tool;
    if (!tool) return unknown('There is no such tool now.');
    const fixed = stored?.constraints?.[tool.name];
    const isFixed = fixed !== undefined || draft.constraints?.[tool.name] !== undefined;
    if (isFixed && entry.at < subject.updatedAt && seesTool(principal, tool)) {
      return unknown('The capsule changed since, so it is not known which of the arguments it had fixed.');
    }
    const isWith = fixed !== undefined && holdsAll(entry.arguments, fixed);
    if (isWith && entry.outcome === 'invalid') return { ...unknown(INVALID), tool };
    const given = Object.entries(entry.arguments).filter(([name]) => !isWith || !Object.hasOwn(fixed, name));
    return judgeRecorded(principal, tool, Object.fromEntries(given), entry.withheld === true, on);
  }
}

const INVALID = 'It was invalid, and the log does not tell arguments that were given from those that were fixed.';

/** Whether these are among the arguments, as they are in the entry of a call that had them fixed. */
function holdsAll(given: Readonly<Record<string, unknown>>, fixed: FixedArguments): boolean {
  return Object.entries(fixed).every(([name, value]) => isDeepStrictEqual(given[name], value));
}

/** The subject with these rights, for the calls that it makes itself. An agent has a caller with full access. */
export async function holderPrincipal(subject: Subject, draft: DraftRights, judging: Judging): Promise<Principal> {
  const drafted = await withDraft(subject, draft, judging);
  const ref = { type: subject.principal, id: subject.id, name: subject.name };
  if (subject.type === 'agent') {
    return actingFor(ANYBODY, await drafted.store.agents.read(subject.id), judging.server.catalog);
  }
  const found = await principalOf({ principal: ref }, drafted);
  if (typeof found === 'string') throw new ToolError('conflict', found);
  return found;
}

function chainKey({ principal, onBehalfOf = [] }: AuditEntry): string {
  return JSON.stringify([principal, ...onBehalfOf].map(({ type, id }) => [type, id]));
}

/** The principal that would make the call now, or why nobody would. */
async function principalOf(
  { principal, onBehalfOf = [] }: Pick<AuditEntry, 'principal' | 'onBehalfOf'>,
  { store, server }: Judging,
): Promise<Principal | string> {
  const [ref, ...rest] = [principal, ...onBehalfOf];
  return build(ref ?? principal, rest);

  async function build(
    own: AuditEntry['principal'],
    behind: readonly AuditEntry['principal'][],
  ): Promise<Principal | string> {
    const { catalog } = server;
    if (own.type !== 'agent' && own.type !== 'flow')
      return credentialStatus(own, store, { catalog, now: server.now() });
    const [next, ...others] = behind;
    const caller = next && (await build(next, others));
    if (caller === undefined || typeof caller === 'string') return caller ?? 'The log does not say for whom it acted.';
    if (own.type === 'flow') {
      const flow = await store.flows.get(own.id);
      return flow ? actingFlow(flow, caller, { causes: [] }) : `The flow ${own.name} is gone.`;
    }
    const agent = own.id === ASSISTANT.id ? ASSISTANT : await store.agents.get(own.id);
    return agent ? actingFor(caller, agent, catalog) : `The agent ${own.name} is gone.`;
  }
}

/** The checks of a call in their order, as far as the recorded arguments decide them. */
async function judgeRecorded(
  principal: Principal,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  isWithheld: boolean,
  judging: Judging,
): Promise<Verdict> {
  const { store, server } = judging;
  const base = { tool, principal };
  if (tool.discovery) return { ...base, verdict: 'allowed', rule: '' };
  if (!seesTool(principal, tool)) {
    return { ...base, verdict: 'refused', rule: (await judgeTool(principal, tool, judging)).rule };
  }
  let whole: unknown;
  try {
    whole = withFixed(principal, tool, given);
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    return { ...base, verdict: 'refused', rule: thrown.message };
  }
  const isHidden = isWithheld || isMasked(given);
  const parsed = await inputOf(principal, tool, whole, judging);
  if (!parsed && !isHidden) return { ...base, ...unknown('The arguments do not fit the tool as it is now.') };
  const input = parsed ?? (whole as Readonly<Record<string, unknown>>); // an object, as `given` is
  if (isHidden && !(reachesFully(principal, tool) || names(tool, given))) return { ...base, ...unknown(HIDDEN) };

  const isGone = await recordsGone(tool, input, store);
  if (!(await mayCall(principal, tool, input, subjectsIn(store, server.kinds)))) {
    if (isGone) return { ...base, ...unknown(GONE) };
    return { ...base, verdict: 'refused', rule: (await judgeCall(principal, tool, input, judging)).rule };
  }
  const hidden = await hiddenFrom(principal, tool, input, judging);
  if (hidden !== undefined) return { ...base, verdict: 'refused', rule: hidden };
  if (isGone && !principal.rights.isAdmin && isGone.some(isOfGuarded)) return { ...base, ...unknown(GONE) };
  if (tool.authorize && isHidden) return { ...base, ...unknown(HIDDEN) };
  const refused = parsed && (await beyond(principal, tool, parsed, judging));
  if (refused) return { ...base, verdict: 'refused', rule: refused.rule };
  if (tool.authorize && isGone) return { ...base, ...unknown(GONE) };
  return { ...base, verdict: 'allowed', rule: '', input: isHidden ? undefined : parsed };
}

const HIDDEN = 'The log hides arguments that decide.';
const GONE = 'The record is gone, and what was known of it decides.';

function unknown(rule: string): Verdict {
  return { verdict: 'unknown', rule };
}

const MASK = /\[redacted\]|^\[unknown member\]$|^\[\d+ bytes\]$/;

/** Whether something of the arguments is not in the log. Text of a caller that only looks so counts too. */
function isMasked(value: unknown): boolean {
  if (typeof value === 'string') return MASK.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return 'truncated' in value || Object.values(value).some(isMasked);
}

/** Whether what names the record is not hidden, where that alone decides. */
function names(tool: Tool, given: Readonly<Record<string, unknown>>): boolean {
  if ('among' in tool.access || tool.actsAs || 'truncated' in given) return false;
  return neededRights(tool.access).every(
    ({ parameter }) => parameter === undefined || (typeof given[parameter] === 'string' && !isMasked(given[parameter])),
  );
}

/** The ids in the arguments that name records, none of which is there any more. */
async function recordsGone(tool: Tool, input: object, store: Readers): Promise<string[] | undefined> {
  const parameters = neededRights(tool.access).flatMap(({ parameter }) => parameter ?? []);
  const asked = new Set([...parameters, 'id', 'entityId', 'threadId']);
  const ids = Object.entries(input).flatMap(([name, value]) =>
    asked.has(name) && typeof value === 'string' ? value : [],
  );
  const gone: string[] = [];
  for (const id of ids.filter(looksLikeId)) {
    const kinds = Object.entries(collections).filter(([, { idPrefix }]) => id.startsWith(`${idPrefix}_`));
    const found = await Promise.all(kinds.map(([name]) => store[name as keyof typeof collections].get(id))); // its own keys
    if (found.every((record) => record === undefined)) gone.push(id);
  }
  return gone.length > 0 ? gone : undefined;
}

function isOfGuarded(id: string): boolean {
  return Object.values(collections).some(
    ({ idPrefix, schema }) => id.startsWith(`${idPrefix}_`) && 'accessKeys' in schema.shape,
  );
}
