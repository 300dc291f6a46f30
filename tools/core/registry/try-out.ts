import type { ChangedRecord } from '../../../resources/approval.ts';
import { collections } from '../../../store/collections.ts';
import type { Readers, Store, Transaction } from '../../../store/port.ts';
import { accessFor } from '../access/requirement.ts';
import { shownPayload, transactWithHistory } from '../history/history.ts';
import type { HistoryWriters } from '../history-writers.ts';
import { isVersioned, type Payload, type VersionedKind } from '../kind.ts';
import type { Call } from './call.ts';
import { CallContext } from './call-context.ts';
import type { ServerContext } from './context.ts';
import { idsIn } from './idempotency.ts';
import type { Tool } from './tool.ts';

/** A call that is allowed and has to ask first. */
export interface CallToApprove {
  readonly asked: Call;
  readonly tool: Tool;
  /** The input as it was read, without fixed arguments. */
  readonly raw: unknown;
  /** The checked input, with fixed arguments and ids in place of names. */
  readonly input: object;
}

/** More are not told. */
const MOST_RECORDS = 20;
/** In characters of JSON, of all states together. */
const LONGEST_STATES = 64_000;

/** Ends a trial with its result. */
class RolledBack extends Error {
  readonly result: unknown;

  constructor(result: unknown) {
    super('The transaction was only tried.');
    this.result = result;
  }
}

type States = ReadonlyMap<string, Payload | undefined>;

/** What the work comes to, in a transaction that is not kept. @throws what the work throws */
export async function inTrial<Result>(
  store: Store,
  by: Parameters<typeof transactWithHistory>[1],
  work: (tx: Transaction, history: HistoryWriters) => Promise<Result>,
): Promise<Result> {
  try {
    return await transactWithHistory(store, by, async (tx, history) => {
      throw new RolledBack(await work(tx, history));
    });
  } catch (thrown) {
    if (thrown instanceof RolledBack) return thrown.result as Result; // of this work
    throw thrown;
  }
}

/**
 * What the call would change, by making it in a transaction that is not kept. Undefined for tools that do more than change versioned records
 * in one transaction. @throws ToolError that the call would answer
 */
export async function tryOut(
  store: Store,
  { asked, tool, input }: CallToApprove,
  server: ServerContext,
): Promise<ChangedRecord[] | undefined> {
  if (!canBeTried(tool, input, server)) return undefined;
  const caller = { server, list: () => [], call: async () => Promise.reject(new Error('A trial calls no tool.')) };
  const staged = await tool.stage?.(input, new CallContext({ asked, tool }, store, caller));
  const left = await inTrial(store, { principal: asked.principal, server }, async (tx, history) => {
    const context = new CallContext({ asked, tool }, history, caller);
    await tool.authorize?.(input, context);
    const output = await tool.handler(input, context, staged);
    return statesOf(idsIn([input, output]).slice(0, MOST_RECORDS), tx, server);
  }).finally(() => staged?.discard?.());
  return changesFrom(await statesOf([...left.keys()], store, server), left, server);
}

function canBeTried(tool: Tool, input: object, { kinds }: ServerContext) {
  const { annotations, inSteps, answersSecret, session } = tool;
  if (annotations.readOnlyHint || inSteps || answersSecret || session) return false;
  if ((annotations.openWorldHint || tool.stage) && !tool.isPlain?.(input)) return false;
  const grants = [accessFor(tool.access, input).grant].flat();
  const versioned = kinds.filter(isVersioned).map(({ resource }) => resource);
  return (
    grants.length > 0 &&
    grants.every((grant) => {
      const [resource = '', op = ''] = grant.split(':');
      return versioned.includes(resource) && (op === 'write' || op === 'delete');
    })
  );
}

function kindOf(id: string, { kinds }: ServerContext): VersionedKind | undefined {
  return kinds.filter(isVersioned).find(({ collection }) => collections[collection].idPrefix === id.slice(0, 3));
}

/** Reads from nothing but `from`, which may be a transaction. */
async function statesOf(ids: readonly string[], from: Readers, server: ServerContext): Promise<States> {
  const states = new Map<string, Payload | undefined>();
  for (const id of ids) {
    const kind = kindOf(id, server);
    const record = kind && (await from[kind.collection].get(id));
    // A record of the kind's own collection.
    if (kind) states.set(id, record && (await shownPayload(kind.history, kind.history.payload(record as never), from)));
  }
  return states;
}

function changesFrom(before: States, after: States, server: ServerContext): ChangedRecord[] {
  const changes: ChangedRecord[] = [];
  let room = LONGEST_STATES;
  for (const [id, then] of after) {
    const now = before.get(id);
    const { type = '' } = kindOf(id, server) ?? {};
    const text = JSON.stringify([now, then]);
    if (JSON.stringify(now) === JSON.stringify(then)) continue;
    room -= text.length;
    const both = room < 0 ? {} : { ...(now && { before: { ...now } }), ...(then && { after: { ...then } }) };
    changes.push({ type, id, change: now ? (then ? 'update' : 'delete') : 'create', ...both });
  }
  return changes;
}
