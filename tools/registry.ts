import type { AuditEntry, Door } from '../resources/audit-entry.ts';
import { type ErrorBody, type ErrorCode, errorStatus } from '../resources/error.ts';
import type { Store, Transaction } from '../store/port.ts';
import { authorOf, type Principal } from './access/principal.ts';
import { accessFor, allows, mayTry, narrowestGrant, type Subjects } from './access/requirement.ts';
import { subjectsIn } from './access/subjects.ts';
import { auditEntryOf, auditedArguments } from './audit.ts';
import { type Catalog, type CatalogEntry, nearest } from './catalog-index.ts';
import type { Context, Progress, ServerFacts } from './context.ts';
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
  readonly onProgress?: ((progress: Progress) => void) | undefined;
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

export function createRegistry(options: RegistryOptions): Registry {
  return new ToolRegistry(options);
}

class ToolRegistry implements Registry {
  readonly server: ServerFacts;
  readonly #store: Store;
  readonly #onFailure: RegistryOptions['onFailure'];
  readonly #subjects: Subjects;
  readonly #lists = new Map<string, readonly CatalogEntry[]>();
  /** Idempotency keys of calls under way in this process. */
  readonly #running = new Set<string>();

  constructor({ store, server, onFailure }: RegistryOptions) {
    this.server = server;
    this.#store = store;
    this.#onFailure = onFailure;
    this.#subjects = subjectsIn(store);
  }

  find(name: string): Tool | undefined {
    const tool = this.server.catalog.get(name)?.tool;
    return tool?.doorOnly ? undefined : tool;
  }

  list({ rights }: Principal): readonly CatalogEntry[] {
    let found = this.#lists.get(rights.fingerprint);
    if (!found) {
      found = this.server.catalog.entries.filter(({ tool }) => !tool.doorOnly && mayTry(rights, tool.access));
      if (this.#lists.size >= MOST_LISTS) this.#lists.clear();
      this.#lists.set(rights.fingerprint, found);
    }
    return found;
  }

  async call(asked: Call): Promise<Answer> {
    const tool = asked.door === 'rest' ? this.server.catalog.get(asked.tool)?.tool : this.find(asked.tool);
    const entry = this.#entryMaker(asked, tool);
    try {
      if (!tool) throw unknownTool(asked.tool, this.server.catalog);
      const input = await this.#admit(tool, asked);
      if (!tool.annotations.readOnlyHint) return await this.#write(tool, asked, input, entry);
      // A tool with readOnlyHint is typed to take no more than the readers of the view.
      const view = this.#store as unknown as HistoryWriters;
      const output = tool.output.parse(await tool.handler(input, this.#context(asked, view)));
      this.#store.audit.append(entry());
      return { ok: true, output };
    } catch (thrown) {
      const error = toToolError(thrown);
      if (error.cause !== undefined) this.#onFailure(error.cause, asked);
      this.#store.audit.append(entry(error.code));
      return { ok: false, error: errorBody(error, asked.requestId) };
    }
  }

  /** Coarse check, validation, exact check; the parsed input. */
  async #admit(tool: Tool, { principal, input: raw }: Call): Promise<object> {
    if (!mayTry(principal.rights, tool.access)) throw forbidden(tool, raw);
    const input = parseInput(tool.input, raw);
    if (await allows(principal.rights, accessFor(tool.access, input), input, this.#subjects)) return input;
    throw forbidden(tool, input);
  }

  async #write(tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    if (!asked.idempotency) return this.#store.transaction((tx) => this.#runIn(tx, tool, asked, input, entry));
    const repeat = repeatOf(asked.principal, asked.idempotency, input);
    if (this.#running.has(repeat.key)) {
      throw new ToolError('conflict', 'The first call with this idempotency key is still running; repeat it later.');
    }
    this.#running.add(repeat.key);
    try {
      return (await this.#replay(repeat, entry)) ?? (await this.#runOnce(repeat, tool, asked, input, entry));
    } finally {
      this.#running.delete(repeat.key);
    }
  }

  async #replay(repeat: Repeat, entry: MakeEntry): Promise<Answer | undefined> {
    const kept = await findKept(this.#store, repeat, this.server.now());
    if (!kept) return undefined;
    const failed = 'error' in kept;
    this.#store.audit.append(entry(failed ? kept.error.code : undefined));
    return failed
      ? { ok: false, error: kept.error, replayed: true }
      : { ok: true, output: kept.output, replayed: true };
  }

  /** Runs the call and keeps its answer in the same transaction; an error of the caller's is kept in one of its own. */
  async #runOnce(repeat: Repeat, tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    try {
      return await this.#store.transaction(async (tx) => {
        const answer = await this.#runIn(tx, tool, asked, input, entry);
        await keep(tx, repeat, tool.answersSecret ? undefined : { output: answer.output }, this.server.now());
        return answer;
      });
    } catch (thrown) {
      const error = toToolError(thrown);
      if (errorStatus[error.code] < 500) {
        const answer = { error: errorBody(error, asked.requestId) };
        await this.#store.transaction((tx) => keep(tx, repeat, answer, this.server.now()));
      }
      throw error;
    }
  }

  async #runIn(tx: Transaction, tool: Tool, asked: Call, input: object, entry: MakeEntry) {
    const view = withHistory(tx, entities, authorOf(asked.principal));
    const output = tool.output.parse(await tool.handler(input, this.#context(asked, view)));
    tx.audit.append(entry());
    return { ok: true, output } as const;
  }

  #context(asked: Call, store: HistoryWriters): Context<HistoryWriters, ErrorCode> {
    return new CallContext(asked, store, this.server);
  }

  #entryMaker({ requestId, door, principal, input, tool: name }: Call, tool: Tool | undefined): MakeEntry {
    const at = this.server.now();
    const started = performance.now();
    return (code) => {
      const args = tool ? auditedArguments(tool, input) : {};
      const durationMs = performance.now() - started;
      return auditEntryOf({ requestId, door, principal, tool: name, arguments: args, at, durationMs, code });
    };
  }
}

class CallContext implements Context<HistoryWriters, ErrorCode> {
  readonly store: HistoryWriters;
  readonly principal: Principal;
  readonly fail = fail;
  readonly server: ServerFacts;
  readonly report: (progress: Progress) => void;
  readonly #asked: Call;

  constructor(asked: Call, store: HistoryWriters, server: ServerFacts) {
    this.store = store;
    this.principal = asked.principal;
    this.server = server;
    this.report = asked.onProgress ?? ignore;
    this.#asked = asked;
  }

  /** Looked up when used: most handlers need no signal, and doors make one only for those that do. */
  get signal(): AbortSignal | undefined {
    return this.#asked.signal;
  }
}

function ignore(): void {}

const fail: Fail<ErrorCode> = (code, message, detail) => new ToolError(code, message, detail);

function unknownTool(name: string, catalog: Catalog): ToolError {
  const names = catalog.entries.filter(({ tool }) => !tool.doorOnly).map(({ tool }) => tool.name);
  const close = nearest(name, names, 3);
  const hint = close.length > 0 ? `Similar names: ${close.join(', ')}.` : 'tools/list shows the tools there are.';
  return new ToolError('not_found', `There is no tool of this name. ${hint}`);
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
