import type { AuditEntry, Door } from '../resources/audit-entry.ts';
import { type ErrorBody, type ErrorCode, errorStatus } from '../resources/error.ts';
import type { Store, Transaction } from '../store/port.ts';
import { authorOf, type Principal } from './access/principal.ts';
import { accessFor, allows, mayTry, narrowestGrant, type Subjects } from './access/requirement.ts';
import { subjectsIn } from './access/subjects.ts';
import { auditEntryOf, auditedArguments } from './audit.ts';
import { type CatalogEntry, nearest } from './catalog-index.ts';
import type { Context, ServerFacts } from './context.ts';
import type { Fail, Tool } from './define-tool.ts';
import { entities } from './entities.ts';
import { errorBody, ToolError, toToolError } from './errors.ts';
import { findKept, type IdempotencyWish, keep, type Repeat, repeatOf } from './idempotency.ts';
import { parseInput } from './validate.ts';
import { type HistoryWriters, withHistory } from './versioning.ts';

/** One tool call, as a door hands it over. */
export interface Call {
  readonly principal: Principal;
  readonly tool: string;
  readonly input: unknown;
  readonly door: Door;
  readonly requestId: string;
  readonly idempotency?: IdempotencyWish | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type Answer =
  | { readonly ok: true; readonly output: object; readonly replayed?: true }
  | { readonly ok: false; readonly error: ErrorBody; readonly replayed?: true };

export interface Registry {
  readonly server: ServerFacts;
  /** The tools the principal may call, in catalog order. */
  list(principal: Principal): readonly CatalogEntry[];
  /** The tool as a door other than its own sees it: door-only tools do not exist there. */
  find(name: string): Tool | undefined;
  /** The only way to run a tool. Never rejects: whatever happens is an answer and an audit entry. */
  call(call: Call): Promise<Answer>;
}

export interface RegistryOptions {
  readonly store: Store;
  readonly server: ServerFacts;
  /** Told the cause of every `internal` and `unavailable` answer. */
  onFailure(cause: unknown, call: Pick<Call, 'requestId' | 'tool'>): void;
}

export function createRegistry({ store, server, onFailure }: RegistryOptions): Registry {
  const { catalog } = server;
  const subjects = subjectsIn(store);
  const lists = new Map<string, readonly CatalogEntry[]>();
  const running = new Set<string>();

  async function call(asked: Call): Promise<Answer> {
    const at = server.now();
    const started = performance.now();
    const tool = catalog.get(asked.tool)?.tool;
    const entry: MakeEntry = (code) =>
      auditEntryOf({
        requestId: asked.requestId,
        door: asked.door,
        principal: asked.principal,
        tool: asked.tool,
        arguments: tool ? auditedArguments(tool, asked.input) : {},
        at,
        durationMs: performance.now() - started,
        code,
      });
    try {
      if (!tool) throw unknownTool(asked.tool);
      const input = await admit(tool, asked);
      if (!tool.annotations.readOnlyHint) return await runWrite(tool, asked, input, entry);
      // A tool with readOnlyHint is typed to take no more than the readers of the view.
      const view = store as unknown as HistoryWriters;
      const output = tool.output.parse(await tool.handler(input, contextOf(asked, view)));
      store.audit.append(entry());
      return { ok: true, output };
    } catch (thrown) {
      const error = toToolError(thrown);
      if (error.cause !== undefined) onFailure(error.cause, asked);
      store.audit.append(entry(error.code));
      return { ok: false, error: errorBody(error, asked.requestId) };
    }
  }

  /** Coarse check, validation, exact check; the parsed input. */
  async function admit(tool: Tool, { principal, input: raw }: Call): Promise<object> {
    if (!mayTry(principal.rights, tool.access)) throw forbidden(tool, raw);
    const input = parseInput(tool.input, raw);
    if (await allows(principal.rights, accessFor(tool.access, input), input, subjects)) return input;
    throw forbidden(tool, input);
  }

  async function runWrite(tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    if (!asked.idempotency) return store.transaction((tx) => runIn(tx, tool, asked, input, entry));
    const repeat = repeatOf(asked.principal, asked.idempotency, input);
    if (running.has(repeat.key)) {
      throw new ToolError('conflict', 'The first call with this idempotency key is still running; repeat it later.');
    }
    running.add(repeat.key);
    try {
      return (await replay(repeat, entry)) ?? (await runOnce(repeat, tool, asked, input, entry));
    } finally {
      running.delete(repeat.key);
    }
  }

  async function replay(repeat: Repeat, entry: MakeEntry): Promise<Answer | undefined> {
    const kept = await findKept(store, repeat, server.now());
    if (!kept) return undefined;
    store.audit.append(entry('error' in kept ? kept.error.code : undefined));
    return 'error' in kept
      ? { ok: false, error: kept.error, replayed: true }
      : { ok: true, output: kept.output, replayed: true };
  }

  async function runOnce(repeat: Repeat, tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    try {
      return await store.transaction(async (tx) => {
        const answer = await runIn(tx, tool, asked, input, entry);
        await keep(tx, repeat, tool.answersSecret ? undefined : { output: answer.output }, server.now());
        return answer;
      });
    } catch (thrown) {
      const error = toToolError(thrown);
      if (errorStatus[error.code] < 500) {
        const answer = { error: errorBody(error, asked.requestId) };
        await store.transaction((tx) => keep(tx, repeat, answer, server.now()));
      }
      throw error;
    }
  }

  async function runIn(tx: Transaction, tool: Tool, asked: Call, input: object, entry: MakeEntry) {
    const author = authorOf(asked.principal);
    const output = tool.output.parse(await tool.handler(input, contextOf(asked, withHistory(tx, entities, author))));
    tx.audit.append(entry());
    return { ok: true, output } as const;
  }

  function contextOf(asked: Call, view: HistoryWriters): Context<HistoryWriters, ErrorCode> {
    const fail: Fail<ErrorCode> = (code, message, detail) => new ToolError(code, message, detail);
    return { store: view, principal: asked.principal, fail, server, signal: asked.signal };
  }

  function unknownTool(name: string): ToolError {
    const names = catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => tool.name);
    const close = nearest(name, names, 3);
    const hint = close.length > 0 ? `Similar names: ${close.join(', ')}.` : 'tools/list shows the tools there are.';
    return new ToolError('not_found', `There is no tool of this name. ${hint}`);
  }

  return {
    server,
    call,
    find(name) {
      const tool = catalog.get(name)?.tool;
      return tool?.doorOnly ? undefined : tool;
    },
    list({ rights }) {
      let found = lists.get(rights.fingerprint);
      if (!found) {
        found = catalog.entries.filter(({ tool }) => !tool.doorOnly && mayTry(rights, tool.access));
        if (lists.size >= MOST_LISTS) lists.clear();
        lists.set(rights.fingerprint, found);
      }
      return found;
    },
  };
}

/** Lists kept per set of rights; beyond that they are made again. */
const MOST_LISTS = 1000;

type MakeEntry = (code?: ErrorCode) => AuditEntry;

function forbidden(tool: Tool, input: unknown): ToolError {
  const given = typeof input === 'object' && input !== null ? input : {};
  const access = accessFor(tool.access, given);
  return new ToolError('forbidden', FORBIDDEN, {
    required: { scope: access.scope, grant: narrowestGrant(access, given) },
  });
}

const FORBIDDEN = 'Insufficient permissions';
