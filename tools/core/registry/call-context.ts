import type { Door } from '../../../resources/audit-entry.ts';
import type { ErrorCode } from '../../../resources/error.ts';
import { type CheckCredential, CredentialSignal, checkSafely } from '../access/credential-status.ts';
import type { Principal, SessionPrincipal } from '../access/principal.ts';
import { inCallOf } from '../access/reach.ts';
import { type Fail, forbidden, ToolError } from '../errors.ts';
import type { Answer, Attached, Call, Progress, Questions } from './call.ts';
import type { CatalogEntry } from './catalog-index.ts';
import type { CallingContext, InnerCallOptions, ServerContext, SteppingContext } from './context.ts';
import type { CallFingerprint } from './idempotency.ts';
import type { Tool } from './tool.ts';

/** What runs the calls that handlers make. */
interface Caller {
  readonly server: ServerContext;
  list(principal: Principal): readonly CatalogEntry[];
  call(call: Call): Promise<Answer>;
}

type Write = SteppingContext<never, never>['write'];

/** What only the handlers outside a transaction have. */
interface Outside {
  readonly checkCredential: CheckCredential | undefined;
  /** Present if the handler changes data in steps. */
  readonly write?: Write;
}

/** The context of one call. `Store` is the transaction of the call, or the store where the handler runs outside of one. */
export class CallContext<Store> implements SteppingContext<Store, ErrorCode> {
  readonly fail = fail;
  readonly store: Store;
  readonly principal: Principal;
  readonly door: Door;
  readonly requestId: string;
  readonly client: string | undefined;
  readonly report: (progress: Progress) => void;
  readonly questions: Questions | undefined;
  readonly server: ServerContext;
  readonly checkCredential: CheckCredential | undefined;
  readonly repeat: CallFingerprint | undefined;
  session: SessionPrincipal | undefined;
  readonly #asked: Call;
  readonly #tool: Tool;
  readonly #caller: Caller;
  readonly #outside: Outside | undefined;
  #watch: CredentialSignal | undefined;

  constructor(
    { asked, tool, repeat }: { readonly asked: Call; readonly tool: Tool; readonly repeat?: CallFingerprint },
    store: Store,
    caller: Caller,
    outside?: Outside,
  ) {
    this.store = store;
    this.principal = inCallOf(asked.principal, tool);
    this.door = asked.door;
    this.requestId = asked.requestId;
    this.client = asked.client;
    this.report = asked.onProgress ?? ignore;
    this.questions = asked.questions;
    this.server = caller.server;
    this.checkCredential = outside?.checkCredential;
    this.repeat = repeat;
    this.#asked = asked;
    this.#tool = tool;
    this.#caller = caller;
    this.#outside = outside;
  }

  get attached(): Attached | undefined {
    return this.#asked.attached?.();
  }

  get began(): SteppingContext<never, never>['began'] {
    // The types of other handlers do not have it.
    if (this.#tool.session !== 'begins') throw new Error('Only a tool that is declared to begin a session begins one.');
    return (session) => {
      this.session = session;
    };
  }

  /** Made when used, as most handlers need none. From then on the caller's standing is watched; calls inside this one end with it. */
  get signal(): AbortSignal | undefined {
    if (!this.checkCredential || this.#asked.from) return this.#asked.signal;
    this.#watch ??= new CredentialSignal(this.checkCredential, this.#asked.signal);
    return this.#watch.signal;
  }

  /** Does the work of the handler. @throws what the work throws; if the caller may not continue, the reason for that instead */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await work();
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
    // Handlers that write are typed without `call`: the transaction of the other tool would wait for theirs.
    if (!this.#outside) throw new Error('A handler inside a transaction calls no tool.');
    return async (tool, input, as) => this.#caller.call(await this.#inside(tool, input, as));
  }

  /** The call that the handler makes. Its caller is asked for again. */
  async #inside(tool: string, input: unknown, as: InnerCallOptions | undefined): Promise<Call> {
    const { requestId, from } = this.#asked;
    const { principal, door } = as ?? this.#asked;
    const checkCredential = as ? as.checkCredential : this.checkCredential;
    const current = checkCredential && (await checkSafely(checkCredential));
    const outer = this;
    return {
      tool,
      input,
      door,
      requestId,
      checkCredential,
      auditId: as?.auditId,
      approvalId: as?.approvalId,
      idempotency: as?.idempotency,
      from: { tool: this.#tool, depth: (from?.depth ?? 0) + 1 },
      ...(current instanceof ToolError ? { principal, gone: current } : { principal: current ?? principal }),
      get signal() {
        return as?.signal ?? outer.signal;
      },
    };
  }

  get write(): Write {
    // The handlers of all other tools are typed without `write`.
    if (!this.#outside?.write) throw new Error('Only a tool that is declared to run in steps takes steps.');
    return this.#outside.write;
  }
}

/** @throws ToolError if the caller may not continue, or if the calling tool may not call this one */
export function requireCallable(tool: Tool, { gone, from }: Pick<Call, 'gone' | 'from'>): void {
  if (gone) throw gone;
  if (!from) return;
  if (from.depth > MOST_NESTED) {
    throw new ToolError('conflict', 'The tool calls are nested too deep; call them one by one.');
  }
  if (from.tool.annotations.readOnlyHint && !tool.annotations.readOnlyHint) {
    throw forbidden(`${from.tool.name} only reads and cannot call ${tool.name}, which does not.`);
  }
}

/** Calls of tools by tools, one inside the other. */
const MOST_NESTED = 5;

function ignore(): void {}

const fail: Fail<ErrorCode> = (code, message, detail) => new ToolError(code, message, detail);
