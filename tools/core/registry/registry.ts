import { randomUUID } from 'node:crypto';
import type { ApprovalRecord } from '../../../resources/approval.ts';
import type { AuditEntry } from '../../../resources/audit-entry.ts';
import { StoreUnavailable } from '../../../store/errors.ts';
import type { Readers, Store, Transaction } from '../../../store/port.ts';
import { refusalWithScopes } from '../access/app-principal.ts';
import { asksFirst } from '../access/ask-first.ts';
import type { CheckCredential } from '../access/credential-status.ts';
import { requireFresh } from '../access/fresh-sign-in.ts';
import { isListed } from '../access/guarded-tool.ts';
import { isSession, type Principal } from '../access/principal.ts';
import { mayCall, rightsFingerprint, seesTool, withFixed } from '../access/reach.ts';
import type { Subjects } from '../access/requirement.ts';
import { subjectsIn } from '../access/subjects.ts';
import { ToolError, toToolError } from '../errors.ts';
import { callEntry, shownArguments, startCall } from '../history/audit-entry.ts';
import { transactWithHistory } from '../history/history.ts';
import type { HistoryWriters } from '../history-writers.ts';
import { ApprovalGate, actsOutside } from './approval-gate.ts';
import { idempotencyOf } from './approvals.ts';
import type { Answer, Call } from './call.ts';
import { CallContext, requireCallable } from './call-context.ts';
import {
  type AdmittedCall,
  errorOfSteps,
  failed,
  isLook,
  nameable,
  type RequestedCall,
  standIn,
  succeeded,
  validated,
} from './call-steps.ts';
import { type CatalogEntry, unknownTool } from './catalog-index.ts';
import type { ServerContext } from './context.ts';
import { checkedOutput } from './frozen-output.ts';
import { IdempotentCalls, isStoredError, type StoredAnswer } from './idempotency.ts';
import { withRecordIds } from './record-names.ts';
import type { Tool } from './tool.ts';
import { inTrial } from './try-out.ts';
import { withoutAliases } from './validate.ts';

export type { Answer, Call } from './call.ts';

interface RegistryOptions {
  readonly store: Store;
  readonly server: ServerContext;
  /** Keeps the inputs of calls that may be repeated from being guessed. Without one, repeats are known to this registry alone. */
  readonly repeatsSecret?: string;
  /** Receives the cause of every `internal` and `unavailable` answer. */
  onFailure(cause: unknown, call: Pick<Call, 'requestId' | 'tool' | 'principal'>): void;
}

export function createRegistry(options: RegistryOptions): Registry {
  return new Registry(options);
}

export class Registry {
  readonly server: ServerContext;
  readonly #store: Store;
  readonly #onFailure: RegistryOptions['onFailure'];
  readonly #subjects: Subjects;
  readonly #repeats: IdempotentCalls;
  readonly #approvals: ApprovalGate;
  /** One list per set of rights, made from the catalog at `#listsVersion`. */
  readonly #lists = new Map<string, readonly CatalogEntry[]>();
  #listsVersion = 0;

  constructor({ store, server, repeatsSecret = randomUUID(), onFailure }: RegistryOptions) {
    this.server = server;
    this.#store = store;
    this.#onFailure = onFailure;
    this.#subjects = subjectsIn(store, server.kinds);
    this.#repeats = new IdempotentCalls(store, server.now, repeatsSecret);
    this.#approvals = new ApprovalGate(store, server, (value) => this.#repeats.hashOf(value));
  }

  /** The tool as a door other than its own sees it: door-only tools do not exist there. */
  find(name: string): Tool | undefined {
    const tool = this.server.catalog.get(name)?.tool;
    return tool?.doorOnly ? undefined : tool;
  }

  list(principal: Principal): readonly CatalogEntry[] {
    const { catalog } = this.server;
    if (catalog.version !== this.#listsVersion || this.#lists.size >= MOST_LISTS) this.#lists.clear();
    this.#listsVersion = catalog.version;
    const reach = rightsFingerprint(principal);
    const found =
      this.#lists.get(reach) ?? catalog.entries.filter(({ tool }) => isListed(tool) && seesTool(principal, tool));
    this.#lists.set(reach, found);
    return found;
  }

  /** The only way to run a tool. Never rejects: whatever happens is an answer and an audit entry. */
  call(asked: Call): Promise<Answer> {
    return this.#call(asked, asked);
  }

  #call(asked: Call, wanted: RequestedCall): Promise<Answer> {
    const { door, from } = asked;
    const tool =
      OWN_DOORS.includes(door) && !from ? this.server.catalog.get(wanted.tool)?.tool : this.find(wanted.tool);
    return this.server.telemetry.call(asked, tool?.name, () => this.#answer(asked, wanted, tool));
  }

  /** Check rights, validate, check them exactly, count, run, check output, audit. A failure is an answer with an audit entry too. */
  async #answer(asked: Call, wanted: RequestedCall, tool: Tool | undefined): Promise<Answer> {
    const { principal, door } = asked;
    const { telemetry } = this.server;
    const begun = startCall(this.server.now(), asked.auditId);
    let given = wanted.input;
    let input: object | undefined;
    try {
      if (!tool) throw unknownTool(wanted.tool, this.list(principal));
      requireCallable(tool, asked);
      const isReached = seesTool(principal, tool);
      // A refused call's input is read only for its audit entry, so any fault in it is ignored.
      if (wanted.readInput) given = await (isReached ? wanted.readInput() : wanted.readInput().catch(() => given));
      if (!isReached) throw refusalWithScopes(principal, tool, nameable(tool, given));
      const raw = given;
      given = withFixed(principal, tool, withoutAliases(tool, given));
      const parsed = validated(tool, given);
      const naming = { store: this.#store, catalog: this.server.catalog, principal };
      const resolved = await withRecordIds(tool.input, parsed, naming);
      const isAllowed = await mayCall(principal, tool, resolved, this.#subjects);
      if (!isAllowed) throw refusalWithScopes(principal, tool, parsed); // the refusal shows the names that the caller gave
      await requireFresh(principal, tool, resolved, this.#store);
      input = resolved;
      if (tool.delegatesTo) return await this.#call(asked, standIn(asked, tool.delegatesTo(input)));
      const asks =
        asked.needsApproval ||
        asked.approvalId !== undefined ||
        asksFirst(principal, tool, input) ||
        (typeof tool.needsApproval === 'function' &&
          (await tool.needsApproval(input, this.#store, isSession(principal))));
      const approved = asks ? await this.#approvals.admit({ asked, tool, raw, input }) : undefined;
      const answer = await this.#runShown({ asked, wanted, tool, begun, given, input, approved });
      telemetry.called(tool.name, door, answer.ok ? undefined : answer.error.code, begun.ms);
      return answer;
    } catch (thrown) {
      const error = toToolError(thrown);
      const { code, cause } = error;
      telemetry.called(tool?.name, door, code, begun.ms);
      if (cause !== undefined) this.#onFailure(cause, { requestId: asked.requestId, tool: wanted.tool, principal });
      this.#store.audit.append(callEntry({ asked, wanted, tool, begun, given, input }, { code }, this.server.catalog));
      return failed(error, asked);
    }
  }

  /** Where traces show content, they get the arguments as the audit log does, and an answer that is not a secret. */
  async #runShown(call: AdmittedCall): Promise<Answer> {
    const { telemetry, catalog } = this.server;
    if (!telemetry.showsContent) return this.#run(call);
    const { tool, given } = call;
    telemetry.show(
      'gen_ai.tool.call.arguments',
      shownArguments(tool, given, { tools: catalog, longest: LONGEST_SHOWN }),
    );
    const answer = await this.#run(call);
    if (answer.ok && !tool.answersSecret) telemetry.show('gen_ai.tool.call.result', answer.output);
    return answer;
  }

  async #run(call: AdmittedCall): Promise<Answer> {
    const { asked, wanted, tool, input, approved } = call;
    if (approved) return this.#runApproved(call, approved);
    if (wanted.idempotency && !tool.annotations.readOnlyHint) {
      const repeat = this.#repeats.of(asked, wanted.idempotency, input);
      const first = async () => {
        await this.server.budgets?.call(asked.principal); // repeats are not counted
        return this.#change({ ...call, repeat });
      };
      return this.#repeats.once(repeat, first, (kept) => this.#replay(call, kept), actsOutside(tool));
    }
    const counted = isLook(call) ? undefined : this.server.budgets?.call(asked.principal);
    if (counted) await counted;
    if (!tool.annotations.readOnlyHint) return this.#change(call);
    const output = checkedOutput(tool.output, await this.#read(call));
    this.#store.audit.append(callEntry(call, {}, this.server.catalog));
    return succeeded(tool, output);
  }

  #read(call: AdmittedCall): Promise<unknown> {
    const context = new CallContext(call, this.#store, this, { checkCredential: this.#checkCredential(call) });
    return context.run(() => call.tool.handler(call.input, context));
  }

  /** Runs a call that a person said yes to, once. It is a call with an idempotency key, whichever of its caller or the server makes it. */
  #runApproved(call: AdmittedCall, approved: ApprovalRecord): Promise<Answer> {
    const { asked, tool, input } = call;
    const repeat = this.#repeats.of(asked, idempotencyOf(approved.id), input);
    const first = async (): Promise<Answer> => {
      await this.#approvals.begin(approved, tool);
      try {
        await this.server.budgets?.call(asked.principal);
        if (!tool.annotations.readOnlyHint) return await this.#change({ ...call, repeat });
        const result = await this.#read(call);
        return await this.#store.transaction((tx) => this.#finish(tx, { ...call, repeat }, result));
      } catch (thrown) {
        const error = toToolError(thrown);
        if (!isStoredError(error.code) || error.detail.wants) await this.#approvals.failed(approved, tool, error);
        throw error;
      }
    };
    const again = async (kept: StoredAnswer): Promise<Answer> => {
      if (approved.status !== 'done') await this.#noteRan(approved, kept);
      return this.#replay(call, kept);
    };
    return this.#repeats.once(repeat, first, again).catch(async (thrown) => {
      const error = toToolError(thrown);
      await this.#noteRan(approved, await this.#repeats.kept(repeat));
      throw error;
    });
  }

  async #noteRan({ id }: ApprovalRecord, kept: StoredAnswer | undefined): Promise<void> {
    if (!kept) return;
    await this.#store.transaction((tx) => this.#approvals.ran(tx, id, 'error' in kept ? kept.error.code : undefined));
  }

  /** Runs the handler, in one transaction or in its own steps. */
  async #change(call: AdmittedCall): Promise<Answer> {
    const { tool, input } = call;
    const by = { principal: call.asked.principal, server: this.server };
    if (!tool.inSteps) {
      const staged = await tool.stage?.(input, new CallContext(call, this.#store, this));
      const made = async (history: HistoryWriters) => {
        const context = new CallContext(call, history, this);
        await tool.authorize?.(input, context);
        return tool.handler(input, context, staged);
      };
      const changed = tool.isTrial?.(input)
        ? inTrial(this.#store, by, (_, history) => made(history)).then((result) =>
            this.#store.transaction((tx) => this.#finish(tx, call, result)),
          )
        : transactWithHistory(this.#store, by, async (tx, history) => this.#finish(tx, call, await made(history)));
      return changed.finally(() => staged?.discard());
    }
    const context = new CallContext(call, this.#store, this, {
      checkCredential: this.#checkCredential(call),
      write: (step) => transactWithHistory(this.#store, by, (_, history) => step(history)),
    });
    try {
      const result = await context.run(() => tool.handler(input, context));
      return await this.#store.transaction((tx) => this.#finish(tx, { ...call, session: context.session }, result));
    } catch (thrown) {
      throw errorOfSteps(tool, thrown);
    }
  }

  /** The audit entry, and the answer for repeats, are stored with the changes of the call, or after the last of its steps. */
  async #finish(tx: Transaction, call: AdmittedCall, result: unknown): Promise<Answer> {
    const { asked, tool, repeat, session, approved } = call;
    const output = await this.#shownTo(asked.principal, tool, checkedOutput(tool.output, result), tx);
    tx.audit.append(callEntry(call, { output }, this.server.catalog));
    const isKept = !tool.answersSecret && tool.session !== 'begins';
    if (repeat) await this.#repeats.keep(tx, repeat, isKept ? { output } : undefined);
    if (approved) await this.#approvals.ran(tx, approved.id);
    return { ...succeeded(tool, output), ...(session && { began: session }) };
  }

  async #replay(call: AdmittedCall, kept: StoredAnswer): Promise<Answer> {
    const { asked, tool } = call;
    const answer: Answer =
      'output' in kept
        ? { ...succeeded(tool, await this.#shownTo(asked.principal, tool, kept.output)), replayed: true }
        : { ok: false, error: { ...kept.error, requestId: asked.requestId }, replayed: true };
    const came = answer.ok ? { output: answer.output } : { code: answer.error.code };
    await this.#enterSurely(callEntry(call, came, this.server.catalog));
    return answer;
  }

  /** A caller who hears that a change was made finds the call in the audit log. Where the store takes no writes, the entry waits as those of reads do. */
  async #enterSurely(entry: AuditEntry): Promise<void> {
    try {
      await this.#store.transaction(async (tx) => tx.audit.append(entry));
    } catch (thrown) {
      if (!(thrown instanceof StoreUnavailable)) throw thrown;
      this.#store.audit.append(entry);
    }
  }

  async #shownTo(principal: Principal, tool: Tool, output: object, store: Readers = this.#store): Promise<object> {
    return tool.shown ? tool.shown({ ...output }, { store, principal, server: this.server }) : output;
  }

  /** Asks whether the caller, as it stands now, could make the call again. */
  #checkCredential({ asked: { checkCredential: check }, tool, input }: AdmittedCall): CheckCredential | undefined {
    return (
      check &&
      (async () => {
        const now = await check();
        const isAllowed = now instanceof ToolError || (await mayCall(now, tool, input, this.#subjects));
        return isAllowed ? now : refusalWithScopes(now, tool, input);
      })
    );
  }
}

/** In bytes of JSON. */
const LONGEST_SHOWN = 16 * 1024;

/** The doors whose own tools no other door has. */
const OWN_DOORS: readonly Call['door'][] = ['rest', 'webhook'];

/** This many lists are kept, one per set of rights; others are made again when needed. */
const MOST_LISTS = 1000;
