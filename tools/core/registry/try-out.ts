import type { ChangedRecord } from '../../../resources/approval.ts';
import { collections } from '../../../store/collections.ts';
import type { Readers, Store } from '../../../store/port.ts';
import { accessFor } from '../access/requirement.ts';
import { shownPayload, transactWithHistory } from '../history/history.ts';
import { isVersioned, type Payload, type VersionedKind } from '../kind.ts';
import type { Call } from './call.ts';
import { CallContext } from './call-context.ts';
import type { ServerFacts } from './context.ts';
import { idsIn } from './idempotency.ts';
import type { Tool } from './tool.ts';

/** A call that is allowed and has to ask first. */
export interface AskingCall {
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

/** Ends the trial with the states that the call left, by the ids of the records. */
class RolledBack extends Error {
  readonly left: States;

  constructor(left: States) {
    super('The transaction was only tried.');
    this.left = left;
  }
}

type States = ReadonlyMap<string, Payload | undefined>;

/**
 * What the call would change, by making it in a transaction that is not kept. Undefined for tools that do more than change versioned records
 * in one transaction. @throws ToolError that the call would answer
 */
export async function tryOut(
  store: Store,
  { asked, tool, input }: AskingCall,
  server: ServerFacts,
): Promise<ChangedRecord[] | undefined> {
  if (!canBeTried(tool, input, server)) return undefined;
  const caller = { server, list: () => [], call: async () => Promise.reject(new Error('A trial calls no tool.')) };
  try {
    await transactWithHistory(store, { principal: asked.principal, server }, async (tx, history) => {
      const context = new CallContext({ asked, tool }, history, caller);
      await tool.authorize?.(input, context);
      const output = await tool.handler(input, context);
      throw new RolledBack(await statesOf(idsIn([input, output]).slice(0, MOST_RECORDS), tx, server));
    });
  } catch (thrown) {
    if (thrown instanceof RolledBack) {
      const { left } = thrown;
      return changesFrom(await statesOf([...left.keys()], store, server), left, server);
    }
    throw thrown;
  }
  return undefined;
}

function canBeTried(
  { access, annotations, inSteps, stage, answersSecret, session }: Tool,
  input: object,
  { kinds }: ServerFacts,
) {
  if (annotations.readOnlyHint || annotations.openWorldHint || inSteps || stage || answersSecret || session)
    return false;
  const grants = [accessFor(access, input).grant].flat();
  const versioned = kinds.filter(isVersioned).map(({ resource }) => resource);
  return (
    grants.length > 0 &&
    grants.every((grant) => {
      const [resource = '', op = ''] = grant.split(':');
      return versioned.includes(resource) && (op === 'write' || op === 'delete');
    })
  );
}

function kindOf(id: string, { kinds }: ServerFacts): VersionedKind | undefined {
  return kinds.filter(isVersioned).find(({ collection }) => collections[collection].idPrefix === id.slice(0, 3));
}

/** Reads from nothing but `from`, which may be a transaction. */
async function statesOf(ids: readonly string[], from: Readers, server: ServerFacts): Promise<States> {
  const states = new Map<string, Payload | undefined>();
  for (const id of ids) {
    const kind = kindOf(id, server);
    const record = kind && (await from[kind.collection].get(id));
    // A record of the kind's own collection.
    if (kind) states.set(id, record && (await shownPayload(kind.history, kind.history.payload(record as never), from)));
  }
  return states;
}

function changesFrom(before: States, after: States, server: ServerFacts): ChangedRecord[] {
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
