import { type AuditEntry, subjectsOf } from '../../resources/audit-entry.ts';
import { type ErrorCode, errorStatus } from '../../resources/error.ts';
import { newId } from '../../store/ids.ts';
import type { Store, Transaction } from '../../store/port.ts';
import { authorOf, type Principal, type SessionPrincipal } from '../access/principal.ts';
import { mayCall, reaches, reachOf, refusal, withFixed } from '../access/reach.ts';
import type { Subjects } from '../access/requirement.ts';
import type { AskStanding } from '../access/standing.ts';
import { subjectsIn } from '../access/subjects.ts';
import { auditEntryOf, auditedArguments } from '../audit/entry.ts';
import { entities } from '../kinds.ts';
import { type HistoryWriters, withHistory } from '../versions/history.ts';
import { withAgentIds } from './agent-names.ts';
import type { Answer, Call } from './call.ts';
import { CallContext, requireCallable, StoodInCall } from './call-context.ts';
import { type CatalogEntry, isListed, unknownTool } from './catalog-index.ts';
import type { ServerFacts } from './context.ts';
import type { Tool } from './define-tool.ts';
import { errorBody, ToolError, toToolError } from './errors.ts';
import { findKept, keep, type Repeat, repeatOf } from './idempotency.ts';
import { parseInput } from './validate.ts';

export type { Answer, Call } from './call.ts';

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
  onFailure(cause: unknown, call: Pick<Call, 'requestId' | 'tool' | 'principal'>): void;
}

export function createRegistry(options: RegistryOptions): Registry {
  return new ToolRegistry(options);
}

class ToolRegistry implements Registry {
  readonly server: ServerFacts;
  readonly #store: Store;
  /** For handlers outside a transaction, which are typed to take no more of it than the readers. */
  readonly #view: HistoryWriters;
  readonly #onFailure: RegistryOptions['onFailure'];
  readonly #subjects: Subjects;
  /** One per set of rights, made from the catalog at `#listsVersion`. */
  readonly #lists = new Map<string, readonly CatalogEntry[]>();
  #listsVersion = 0;
  /** Idempotency keys of calls under way in this process. */
  readonly #running = new Set<string>();

  constructor({ store, server, onFailure }: RegistryOptions) {
    this.server = server;
    this.#store = store;
    this.#view = store as unknown as HistoryWriters;
    this.#onFailure = onFailure;
    this.#subjects = subjectsIn(store);
  }

  find(name: string): Tool | undefined {
    const tool = this.server.catalog.get(name)?.tool;
    return tool?.doorOnly ? undefined : tool;
  }

  list(principal: Principal): readonly CatalogEntry[] {
    const { catalog } = this.server;
    if (catalog.version !== this.#listsVersion) this.#lists.clear();
    this.#listsVersion = catalog.version;
    const reach = reachOf(principal);
    let found = this.#lists.get(reach);
    if (!found) {
      found = catalog.entries.filter(({ tool }) => isListed(tool) && reaches(principal, tool));
      if (this.#lists.size >= MOST_LISTS) this.#lists.clear();
      this.#lists.set(reach, found);
    }
    return found;
  }

  async call(asked: Call): Promise<Answer> {
    const tool =
      asked.door === 'rest' && !asked.from ? this.server.catalog.get(asked.tool)?.tool : this.find(asked.tool);
    const raw: RawInput = { value: asked.input };
    const entry = this.#entryMaker(asked, tool, raw);
    try {
      if (!tool) throw unknownTool(asked.tool, this.list(asked.principal));
      const input = await this.#admit(tool, asked, raw);
      if (tool.standsFor) return await this.call(new StoodInCall(asked, tool.standsFor(input)));
      if (!tool.annotations.readOnlyHint) return await this.#change(tool, asked, input, entry);
      const standing = this.#standing(tool, asked, input);
      const context = new CallContext(asked, this.#view, this, { tool, standing });
      const output = tool.output.parse(await context.run((each) => tool.handler(input, each)));
      this.#store.audit.append(entry());
      return answerOf(tool, output);
    } catch (thrown) {
      const error = toToolError(thrown);
      if (error.cause !== undefined) this.#onFailure(error.cause, asked);
      this.#store.audit.append(entry(error.code));
      const { retryAfterSeconds } = error.detail;
      return {
        ok: false,
        error: errorBody(error, asked.requestId),
        ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      };
    }
  }

  /** Coarse check, validation, exact check; the parsed input. */
  async #admit(tool: Tool, { principal, readInput, from, gone }: Call, raw: RawInput): Promise<object> {
    if (gone) throw gone;
    if (from) requireCallable(tool, from);
    const tries = reaches(principal, tool);
    // Of a caller who is refused anyway it is read for the audit entry alone, whatever is wrong with it.
    if (readInput) raw.value = await (tries ? readInput() : readInput().catch(() => raw.value));
    if (!tries) throw refusal(principal, tool, nameable(tool, raw.value));
    raw.value = withFixed(principal, tool, raw.value);
    const given = tool.session === 'begins' ? readCredential(tool, raw.value) : parseInput(tool.input, raw.value);
    const input = await withAgentIds(tool.input, given, this.#store, this.server.catalog);
    if (!(await mayCall(principal, tool, input, this.#subjects))) throw refusal(principal, tool, given); // as they know it
    raw.parsed = input;
    return input;
  }

  /** Whether the caller, as it stands now, could make the call again. */
  #standing(tool: Tool, { renewed }: Call, input: object): AskStanding | undefined {
    if (!renewed) return undefined;
    return async () => {
      const now = await renewed();
      if (now instanceof ToolError || (await mayCall(now, tool, input, this.#subjects))) return now;
      return refusal(now, tool, input);
    };
  }

  async #change(tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    if (!asked.idempotency) return this.#run(tool, asked, input, entry);
    const repeat = repeatOf(asked.principal, asked.idempotency, input);
    if (this.#running.has(repeat.key)) {
      throw new ToolError('conflict', 'The first call with this idempotency key is still running; repeat it later.');
    }
    this.#running.add(repeat.key);
    try {
      return (
        (await this.#replay(repeat, tool, asked, entry)) ?? (await this.#runOnce(repeat, tool, asked, input, entry))
      );
    } finally {
      this.#running.delete(repeat.key);
    }
  }

  async #replay(
    repeat: Repeat,
    tool: Tool,
    { requestId, principal }: Call,
    entry: MakeEntry,
  ): Promise<Answer | undefined> {
    const kept = await findKept(this.#store, repeat, this.server.now());
    if (!kept) return undefined;
    if ('output' in kept) {
      const output = shownTo(principal, tool, kept.output);
      this.#store.audit.append(entry(undefined, output));
      return { ...answerOf(tool, output), replayed: true };
    }
    this.#store.audit.append(entry(kept.error.code));
    return { ok: false, error: { ...kept.error, requestId }, replayed: true };
  }

  /** Runs the call and keeps its answer in the same transaction; an error of the caller's is kept in one of its own. */
  async #runOnce(repeat: Repeat, tool: Tool, asked: Call, input: object, entry: MakeEntry): Promise<Answer> {
    try {
      return await this.#run(tool, asked, input, entry, (tx, output) =>
        keep(tx, repeat, isKept(tool) ? { output } : undefined, this.server.now()),
      );
    } catch (thrown) {
      const error = toToolError(thrown);
      if (errorStatus[error.code] < 500 && !MAY_PASS_LATER.includes(error.code)) {
        const answer = { error: errorBody(error, asked.requestId) };
        await this.#store.transaction((tx) => keep(tx, repeat, answer, this.server.now()));
      }
      throw error;
    }
  }

  /** The audit entry and what `also` writes are stored with the call's own changes, or after the last of its steps. */
  async #run(tool: Tool, asked: Call, input: object, entry: MakeEntry, also?: Also): Promise<Answer> {
    const history = (tx: Transaction) => withHistory(tx, entities, authorOf(asked.principal), this.server.now);
    const finish = async (tx: Transaction, result: unknown, began?: SessionPrincipal) => {
      const output = shownTo(asked.principal, tool, tool.output.parse(result));
      tx.audit.append(entry(undefined, output, began));
      await also?.(tx, output);
      return { ...answerOf(tool, output), ...(began && { began }) };
    };
    if (!tool.inSteps) {
      return this.#store.transaction(
        async (tx) => finish(tx, await tool.handler(input, new CallContext(asked, history(tx), this))),
        asked.principal,
      );
    }
    const context = new CallContext(asked, this.#view, this, {
      tool,
      standing: this.#standing(tool, asked, input),
      write: (step) => this.#store.transaction((tx) => step(history(tx)), asked.principal),
    });
    const result = await context.run((each) => tool.handler(input, each));
    return this.#store.transaction((tx) => finish(tx, result, context.session));
  }

  #entryMaker({ requestId, door, principal, tool: asked }: Call, tool: Tool | undefined, raw: RawInput): MakeEntry {
    const at = this.server.now();
    const id = newId('aud');
    const started = performance.now();
    const name = tool?.name ?? UNKNOWN_TOOL;
    return (code, output, began) => {
      const args = tool
        ? auditedArguments(tool, raw.value, this.server.catalog)
        : { name: asked.slice(0, LONGEST_NAME) };
      const durationMs = performance.now() - started;
      const recordIds = began ? [began.sessionId] : untold(args, raw.parsed ?? raw.value, output);
      return auditEntryOf({
        id,
        requestId,
        door,
        principal: began ?? principal,
        tool: name,
        arguments: args,
        recordIds,
        at,
        durationMs,
        code,
      });
    };
  }
}

function answerOf(tool: Tool, output: object) {
  return { ok: true, output, ...(tool.answersContent && { isContent: true as const }) } as const;
}

function shownTo(principal: Principal, tool: Tool, output: object): object {
  return tool.shown ? tool.shown({ ...output }, principal) : output;
}

/** Lists kept per set of rights; beyond that they are made again. */
const MOST_LISTS = 1000;

/** `output`: that of a call that wrote, which tells what it made; `began`: the session it made, whose call it is then. */
type MakeEntry = (code?: ErrorCode, output?: object, began?: SessionPrincipal) => AuditEntry;

/** Writes in the transaction in which the audit entry of a call is stored. */
type Also = (tx: Transaction, output: object) => Promise<void>;

/** The records of a call that its arguments, as the audit log keeps them, do not name. */
function untold(args: object, input: unknown, output: object | undefined): string[] {
  const told = subjectsOf(args);
  const others = [...subjectsOf(input), ...subjectsOf(output)].filter((id) => !told.includes(id));
  return others.length > 1 ? [...new Set(others)] : others;
}

/** The input of a call, as far as it has been read. */
interface RawInput {
  value: unknown;
  /** With the ids of what it names otherwise, once it was admitted. */
  parsed?: object;
}

/** Stands in the audit log for names that are no tool's, which callers could make without end. */
const UNKNOWN_TOOL = '(unknown)';
const LONGEST_NAME = 100;

/** The input by which a caller says who it is: one that does not fit says nothing. */
function readCredential({ input }: Tool, given: unknown): object {
  try {
    return parseInput(input, given);
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    throw new ToolError('unauthenticated', 'Authentication required', thrown.detail);
  }
}

function isKept({ answersSecret, session }: Tool): boolean {
  return !answersSecret && session !== 'begins';
}

/** Errors of a call that say nothing of what it asks for, so that it may be made again under its idempotency key. */
const MAY_PASS_LATER: readonly ErrorCode[] = ['unauthenticated', 'rate_limited'];

/** Of an input that is not checked yet, the members that a grant can name. */
function nameable({ input: schema }: Tool, input: unknown): object {
  if (typeof input !== 'object' || input === null) return {};
  const given = input as Readonly<Record<string, unknown>>; // whose own members are looked at alone
  const fit = (value: unknown) => typeof value === 'string' && value.length <= 200 && value.isWellFormed();
  const names = Object.keys(schema.shape).filter((name) => Object.hasOwn(given, name) && fit(given[name]));
  return Object.fromEntries(names.map((name) => [name, given[name]]));
}
