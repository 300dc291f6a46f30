import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { agentRef, recordId, timestamp } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { entityType, type VersionRecord, versionDiff } from '../../resources/version.ts';
import { collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import { asksFirst } from '../core/access/ask-first.ts';
import { mayCall } from '../core/access/reach.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { mayKnowOf } from '../core/access/visibility.ts';
import { ToolError } from '../core/errors.ts';
import { shownPayload } from '../core/history/history.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { isVersioned } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';
import type { Kind } from '../core/registry/define-kind.ts';
import { DELETES, defineTool } from '../core/registry/define-tool.ts';
import type { Staged, Tool } from '../core/registry/tool.ts';
import { missingActor } from './actor.ts';
import { bringBack, stateOf, takenBy, type Versioned } from './bring-back.ts';
import { changesBy, type RecordChanges } from './changes-by.ts';
import { diffPayloads } from './diff-payloads.ts';
import { type OtherEffects, otherEffects, otherEffectsOf } from './other-effects.ts';

/** Characters of JSON of all differences that a dry run shows. */
const MOST_SHOWN = 512 * 1024;

const id = (ref: string, what: string) => refTo(ref, recordId).optional().describe(what);
const by = z
  .strictObject({
    principalId: recordId
      .optional()
      .describe('An API key or an admin user, with the agents, flows and apps that acted for it.'),
    capsuleId: id('capsule', 'A capsule, with the agents and apps that acted for it.'),
    appId: id('app', 'A connected app.'),
    agentId: agentRef.optional().describe('An agent (id or name), whoever it acted for.'),
    runId: id('agent-run', 'One run of an agent.'),
    flowRunId: id('flow-run', 'One run of a flow, with the agents that it ran.'),
  })
  .refine((given) => Object.keys(given).length === 1, 'Name exactly one.')
  .describe('Whose changes: exactly one of these.');

const subject = { type: entityType, id: recordId, name: z.string().optional() };
const undone = z.object({
  ...subject,
  from: z.int().describe('The latest revision, which is undone with those before it.'),
  to: z.int().describe('The revision whose state is back. 0: there was no such record, so it was deleted.'),
  diff: versionDiff.optional().describe('In a dry run: what would change, as far as it fits.'),
});
const left = z.object({ ...subject, why: z.string() });
const input = z.strictObject({
  by,
  since: timestamp.describe('Changes from this time on.'),
  until: timestamp.optional().describe('Changes before this time. Default: now.'),
  types: z.array(entityType).min(1).optional().describe('Records of these types only.'),
  dryRun: z.boolean().default(false).describe('Only show what would be undone, with the differences.'),
});
const output = z.object({
  dryRun: z.boolean(),
  undone: z.array(undone),
  left: z.array(left),
  otherEffects: otherEffects
    .optional()
    .describe(
      'Their calls that changed something else, and so remain: what was sent, called elsewhere, or has no versions.',
    ),
});

type Input = Omit<z.output<typeof input>, 'dryRun'>;
type Undone = z.output<typeof undone>;
type Left = z.output<typeof left>;
type Caller = Pick<Context<Readers, 'too_large'>, 'store' | 'principal' | 'server' | 'fail'>;

/** One record whose changes can be undone. */
interface Undoing {
  readonly kind: Versioned;
  readonly latest: VersionRecord;
  /** The state to bring back. Undefined: the record did not exist. */
  readonly before: VersionRecord | undefined;
  readonly since: number;
}

interface Plan {
  /** What the actor changed, those too that are as they were before. */
  readonly changed: readonly RecordChanges[];
  readonly undoings: readonly Undoing[];
  readonly left: readonly Left[];
}

/** What was prepared before the transaction: differences for a dry run, and what states of flows need. */
interface Prepared extends Staged {
  readonly otherEffects: OtherEffects | undefined;
  readonly differences?: ReadonlyMap<string, Undone['diff']>;
  readonly byVersion: ReadonlyMap<string, Staged>;
}

export function undoTool(kinds: readonly Kind[]): Tool {
  const byType = new Map(kinds.filter(isVersioned).map((kind) => [kind.type, kind]));
  const planOf = (wanted: Input, caller: Caller) => planUndoing(byType, wanted, caller);
  return defineTool({
    name: 'undo_changes',
    title: 'Undo changes',
    description:
      'Take back all that an agent, run, capsule, app, key or person changed since a time: each record that nobody else changed afterwards gets its earlier state as a new version, all together or none. `left` names the others, with the reason. Show a `dryRun` first.',
    keywords:
      'take back everything that a bot did, it made a mess, roll back a run, mass revert, clean up after a leaked key, clean up what a partner changed, everything since a time',
    access: { scope: 'admin', grant: 'undo:write' },
    annotations: DELETES,
    lasting: { what: 'actor', of: (given) => !('dryRun' in given && given.dryRun) },
    input,
    output,
    errors: ['not_found', 'too_large', 'conflict'],
    isTrial: ({ dryRun }) => dryRun,

    async stage(wanted, context) {
      const { undoings, changed } = await planOf(wanted, context);
      const effects = await otherEffectsOf({ ...wanted, actor: actorOf(wanted) }, changed, context);
      const isKnown = changed.length > 0 || (effects && effects.calls.length > 0);
      const problem = isKnown ? undefined : await missingActor(wanted.by, context.store);
      if (problem) throw context.fail('not_found', problem);
      const differences = wanted.dryRun ? await differencesOf(undoings, context) : undefined;
      return { ...(await stagedOf(undoings, context)), otherEffects: effects, ...(differences && { differences }) };
    },

    async handler({ dryRun, ...wanted }, context, { byVersion, differences, otherEffects }: Prepared) {
      const plan = await planOf(wanted, context);
      const done: Undone[] = [];
      const refused: Left[] = [];
      for (const undoing of plan.undoings) {
        const why = await undo(undoing, byVersion, context);
        const diff = differences?.get(undoing.latest.id);
        if (why === undefined) done.push({ ...answerOf(undoing), ...(diff && { diff }) });
        else refused.push({ ...subjectOf(undoing.latest), why });
      }
      const all = { dryRun, undone: done, left: [...plan.left, ...refused] };
      return { ...all, ...(otherEffects && { otherEffects }) };
    },
  });
}

function actorOf({ by }: Input): string {
  const [actor = ''] = Object.values(by);
  return actor;
}

/** What takes long of bringing states back. */
async function stagedOf(undoings: readonly Undoing[], { principal }: Caller) {
  const byVersion = new Map<string, Staged>();
  for (const { kind, before } of undoings) {
    const staged = before && (await kind.history.stageRestore?.(stateIn(kind, before), principal));
    if (staged) byVersion.set(before.id, staged);
  }
  const discard = async () => void (await Promise.all([...byVersion.values()].map((staged) => staged.discard())));
  return { byVersion, discard };
}

/** The latest change is undone first: a record goes before the one that it belongs to. */
async function planUndoing(kinds: ReadonlyMap<string, Versioned>, wanted: Input, caller: Caller): Promise<Plan> {
  const changed = await changesBy(caller, { ...wanted, actor: actorOf(wanted) });
  const undoings: Undoing[] = [];
  const left: Left[] = [];
  for (const changes of changed) {
    const kind = kinds.get(changes.entityType);
    if (!kind || !(await mayKnowOf(caller, kind, changes.entityId))) continue;
    const found = await judged(kind, changes, caller);
    if (found && 'why' in found) left.push(found);
    else if (found) undoings.push(found);
  }
  return { undoings, left, changed };
}

/** Undefined where the record is as it was before. */
async function judged(kind: Versioned, changes: RecordChanges, caller: Caller): Promise<Undoing | Left | undefined> {
  const { store } = caller;
  const { revisions, latest } = changes;
  const where = { entityType: latest.entityType, entityId: latest.entityId };
  const since = Math.min(...revisions);
  const leave = (why: string): Left => ({ ...subjectOf(latest), why });
  const previous = since > 1 ? await store.versions.first({ where: { ...where, revision: since - 1 } }) : undefined;
  if (since > 1 && !previous) return leave('The state before is no longer kept.');
  const before = previous?.kind === 'delete' ? undefined : previous;
  const undoing = { kind, latest, before, since };
  if (isAsBefore(undoing)) return undefined;
  for (let revision = latest.revision; revision > since; revision -= 1) {
    if (revisions.has(revision)) continue;
    const other = await store.versions.first({ where: { ...where, revision } });
    const who = other ? `${other.author.name} (${other.author.type})` : 'somebody';
    return leave(`Revision ${revision} is a later change by ${who}.`);
  }
  const tool = before ? kind.update : kind.delete;
  if (!tool) return leave(goesWith(latest, caller));
  const given = inputFor(tool, latest);
  const isAllowed = await mayCall(caller.principal, tool, given, subjectsIn(store, caller.server.kinds));
  if (!isAllowed) return leave(`Your rights do not include ${tool.name} for it.`);
  if (asksFirst(caller.principal, tool, given) && !isAsked(caller))
    return leave(`Your calls of ${tool.name} wait for a person; undo it by itself, with restore_version.`);
  return undoing;
}

/** A record that has no tool to delete it has the id of the one that it goes with. */
function goesWith({ entityId, entityType: own }: VersionRecord, { server }: Caller): string {
  const other = server.kinds.find(
    ({ type, collection }) => type !== own && entityId.startsWith(`${collections[collection].idPrefix}_`),
  );
  return other
    ? `It was made with the ${other.noun} ${entityId}, and goes with that one when it is deleted.`
    : 'It was made together with another record, and goes with that one.';
}

/** Whether a person has seen this undoing as a whole before it runs. */
function isAsked({ principal, server }: Caller): boolean {
  const tool = server.catalog.get('undo_changes')?.tool;
  return tool !== undefined && asksFirst(principal, tool, {});
}

function isAsBefore({ latest, before }: Undoing): boolean {
  if (!before) return latest.kind === 'delete';
  return latest.kind !== 'delete' && isDeepStrictEqual(latest.payload, before.payload);
}

/** Undefined if it is undone, else why it is not. Whatever refuses does so before it writes. */
async function undo(
  undoing: Undoing,
  byVersion: Prepared['byVersion'],
  context: Context<HistoryWriters, 'conflict'>,
): Promise<string | undefined> {
  const { kind, latest, before, since } = undoing;
  const { collection, history } = kind;
  const revisions = since === latest.revision ? `revision ${since}` : `revisions ${since} to ${latest.revision}`;
  const changeDescription = `Undid ${revisions}`;
  try {
    const taken = await takenBy(kind, before, context.store);
    if (taken !== undefined) return taken;
    if (!before) {
      const tool = kind.delete as Tool; // the plan has looked
      const given = inputFor(tool, latest);
      await tool.authorize?.(given, context);
      await tool.handler(given, { ...context, store: context.store.noting(changeDescription) });
      return undefined;
    }
    const current = await context.store[collection].get(latest.entityId);
    await history.authorizeRestore?.(stateIn(kind, before), current as never, context);
    const staged = byVersion.get(before.id);
    if (history.stageRestore && !staged) return 'It was changed just now; ask again.';
    await bringBack(kind, { target: before, latest, staged, changeDescription }, context);
    return undefined;
  } catch (thrown) {
    if (thrown instanceof ToolError) return thrown.message;
    throw thrown;
  }
}

function stateIn({ collection }: Versioned, version: VersionRecord): never {
  return stateOf(collection, version) as never; // of the kind's own collection
}

/** The members that name the record in the input of the tool. */
function inputFor({ input: schema }: Tool, { entityId, payload }: VersionRecord): object {
  const members = Object.keys(schema.shape).filter((name) => name === 'id' || name.endsWith('Id'));
  return Object.fromEntries(members.map((name) => [name, name === 'id' ? entityId : payload[name]]));
}

function subjectOf({ entityType: type, entityId, payload }: VersionRecord) {
  const name = [payload.displayName, payload.name, payload.title].find((text) => typeof text === 'string');
  return { type, id: entityId, ...(typeof name === 'string' && { name }) };
}

function answerOf({ latest, before }: Undoing): Undone {
  return { ...subjectOf(latest), from: latest.revision, to: before?.revision ?? 0 };
}

async function differencesOf(
  undoings: readonly Undoing[],
  context: Caller,
): Promise<ReadonlyMap<string, Undone['diff']>> {
  const found = new Map<string, Undone['diff']>();
  let room = MOST_SHOWN;
  for (const { kind, latest, before } of undoings) {
    const shown = (version: VersionRecord | undefined) =>
      version && version.kind !== 'delete' ? shownPayload(kind.history, version.payload, context.store) : {};
    const diff = await diffPayloads(kind.history, [await shown(latest), await shown(before)], context);
    room -= JSON.stringify(diff).length;
    if (room < 0) break;
    found.set(latest.id, diff);
  }
  return found;
}
