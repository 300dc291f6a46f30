import type { Door } from '../../resources/audit-entry.ts';
import type { ErrorCode } from '../../resources/error.ts';
import type { Principal, SessionPrincipal } from '../access/principal.ts';
import { FORBIDDEN, inCallOf } from '../access/reach.ts';
import { type AskStanding, askSafely, StandingSignal } from '../access/standing.ts';
import type { HistoryWriters } from '../versions/history.ts';
import type { Answer, Call } from './call.ts';
import type { CatalogEntry } from './catalog-index.ts';
import type { Acting, CallingContext, Progress, ServerFacts, SteppingContext } from './context.ts';
import type { Fail, Tool } from './define-tool.ts';
import { ToolError } from './errors.ts';

/** What runs the calls that handlers make. */
interface Caller {
  readonly server: ServerFacts;
  list(principal: Principal): readonly CatalogEntry[];
  call(call: Call): Promise<Answer>;
}

export class CallContext implements SteppingContext<HistoryWriters, ErrorCode> {
  readonly store: HistoryWriters;
  readonly principal: Principal;
  readonly door: Door;
  readonly fail = fail;
  readonly server: ServerFacts;
  readonly report: (progress: Progress) => void;
  readonly #asked: Call;
  readonly #caller: Caller;
  readonly #tool: Tool | undefined;
  readonly #write: Write | undefined;
  #watch: StandingSignal | undefined;
  #session: SessionPrincipal | undefined;

  readonly standing: AskStanding | undefined;

  constructor(asked: Call, store: HistoryWriters, caller: Caller, { tool, standing, write }: Outside = {}) {
    this.store = store;
    this.standing = standing;
    const called = caller.server.catalog.get(asked.tool)?.tool;
    this.principal = called ? inCallOf(asked.principal, called) : asked.principal;
    this.door = asked.door;
    this.server = caller.server;
    this.report = asked.onProgress ?? ignore;
    this.#asked = asked;
    this.#caller = caller;
    this.#tool = tool;
    this.#write = write;
  }

  get client(): string | undefined {
    return this.#asked.client;
  }

  /** The session that the call began. */
  get session(): SessionPrincipal | undefined {
    return this.#session;
  }

  get began(): SteppingContext<never, never>['began'] {
    // What other handlers are typed with takes no notice of it.
    if (this.#tool?.session !== 'begins')
      throw new Error('Only a tool that is declared to begin a session begins one.');
    return (session) => {
      this.#session = session;
    };
  }

  /**
   * Looked up when used: most handlers need no signal, and doors make one only for those that do. From then on it is watched whether the
   * caller may go on; calls inside of this one end with it.
   */
  get signal(): AbortSignal | undefined {
    if (!this.standing || this.#asked.from) return this.#asked.signal;
    this.#watch ??= new StandingSignal(this.standing, this.#asked.signal);
    return this.#watch.signal;
  }

  /** Does the work of the handler. @throws why the caller may not go on, whatever came of the work then, or what the work throws */
  async run<Result>(work: (context: this) => Promise<Result>): Promise<Result> {
    try {
      const result = await work(this);
      if (this.#watch?.problem) throw this.#watch.problem;
      return result;
    } catch (thrown) {
      throw this.#watch?.problem ?? thrown;
    } finally {
      this.#watch?.stop();
    }
  }

  get tools(): readonly CatalogEntry[] {
    return this.#caller.list(this.principal);
  }

  get call(): CallingContext<never, never>['call'] {
    const tool = this.#tool;
    // Handlers that write are typed without `call`: the transaction of the other tool would wait for theirs.
    if (!tool) throw new Error('A handler inside a transaction calls no tool.');
    return async (name, input, as) => {
      const call = new InnerCall(this.#asked, this, { from: tool, tool: name, input, as });
      await call.renew();
      return this.#caller.call(call);
    };
  }

  get write(): Write {
    // The handlers of all other tools are typed without `write`.
    if (!this.#write) throw new Error('Only a tool that is declared to run in steps takes steps.');
    return this.#write;
  }
}

type Write = SteppingContext<never, never>['write'];

/** What only the handlers outside a transaction have. */
interface Outside {
  readonly tool?: Tool;
  readonly standing?: AskStanding | undefined;
  /** Where it changes data in steps. */
  readonly write?: Write;
}

interface Wanted {
  readonly from: Tool;
  readonly tool: string;
  readonly input: unknown;
  readonly as: Acting | undefined;
}

/** A call made by the handler of another one: whatever is not its own is that of the other. */
class InnerCall implements Call {
  readonly tool: string;
  readonly input: unknown;
  readonly door: Door;
  readonly requestId: string;
  readonly from: NonNullable<Call['from']>;
  readonly #as: Acting | undefined;
  readonly #context: CallContext;
  #principal: Principal;
  #gone: ToolError | undefined;

  constructor(outer: Call, context: CallContext, { from, tool, input, as }: Wanted) {
    this.#principal = (as ?? outer).principal;
    this.tool = tool;
    this.input = input;
    this.door = (as ?? outer).door;
    this.requestId = outer.requestId;
    this.from = { tool: from, depth: (outer.from?.depth ?? 0) + 1 };
    this.#as = as;
    this.#context = context;
  }

  get principal(): Principal {
    return this.#principal;
  }

  get gone(): ToolError | undefined {
    return this.#gone;
  }

  /** That of the outer call is looked up when it is used, as doors make one only then. */
  get signal(): AbortSignal | undefined {
    return this.#as?.signal ?? this.#context.signal;
  }

  get renewed(): AskStanding | undefined {
    return this.#as ? this.#as.renewed : this.#context.standing;
  }

  /** Asks again who makes the call. */
  async renew(): Promise<void> {
    const standing = this.renewed && (await askSafely(this.renewed));
    if (standing instanceof ToolError) this.#gone = standing;
    else if (standing) this.#principal = standing;
  }
}

/** The call that a stand-in was made for, as if made directly. */
export class StoodInCall implements Call {
  readonly principal: Principal;
  readonly tool: string;
  readonly input: unknown;
  readonly door: Door;
  readonly requestId: string;
  readonly idempotency: Call['idempotency'];
  readonly onProgress: Call['onProgress'];
  readonly from: Call['from'];
  readonly gone: Call['gone'];
  readonly client: Call['client'];
  readonly #asked: Call;

  constructor(asked: Call, { tool, input }: { readonly tool: string; readonly input: unknown }) {
    this.principal = asked.principal;
    this.tool = tool;
    this.input = input;
    this.door = asked.door;
    this.requestId = asked.requestId;
    this.idempotency = asked.idempotency && { key: asked.idempotency.key, operation: `tools/call ${tool}` };
    this.onProgress = asked.onProgress;
    this.from = asked.from;
    this.gone = asked.gone;
    this.client = asked.client;
    this.#asked = asked;
  }

  get signal(): AbortSignal | undefined {
    return this.#asked.signal;
  }

  get renewed(): AskStanding | undefined {
    return this.#asked.renewed;
  }
}

/** @throws ToolError where the tool may not be called from where the call comes from. */
export function requireCallable(tool: Tool, from: NonNullable<Call['from']>): void {
  if (from.depth > MOST_NESTED) {
    throw new ToolError('conflict', 'The tool calls are nested too deep; call them one by one.');
  }
  if (from.tool.annotations.readOnlyHint && !tool.annotations.readOnlyHint) {
    const message = `${from.tool.name} only reads and cannot call ${tool.name}, which does not.`;
    throw new ToolError('forbidden', FORBIDDEN, { issues: [{ path: '', message }] });
  }
}

/** Calls of tools by tools, one inside the other. */
const MOST_NESTED = 5;

function ignore(): void {}

const fail: Fail<ErrorCode> = (code, message, detail) => new ToolError(code, message, detail);
