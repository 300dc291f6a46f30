import { hash } from 'node:crypto';
import { canonicalize } from 'json-canonicalize';
import { APPROVAL_HOURS, type ApprovalRecord } from '../../../resources/approval.ts';
import { SETTINGS_ID } from '../../../resources/settings.ts';
import { UniqueTaken } from '../../../store/errors.ts';
import { newId } from '../../../store/ids.ts';
import type { Store, Transaction } from '../../../store/port.ts';
import { behind, FOLLOWING } from '../access/ask-first.ts';
import { formatGrant } from '../access/grants.ts';
import { actorsOf, chainOf, type Principal } from '../access/principal.ts';
import { rightFor, seesTool } from '../access/reach.ts';
import { forbidden, ToolError } from '../errors.ts';
import { shownArguments } from '../history/audit-entry.ts';
import {
  ANEW,
  approvalPage,
  approvalPlace,
  CUT_OFF,
  callerKeyOf,
  canBeSealed,
  credentialRef,
  ENDS,
  endApproval,
  endOf,
  isCredential,
  isExpired,
  type SealedCall,
} from './approvals.ts';
import type { Call } from './call.ts';
import type { ServerContext } from './context.ts';
import { ANSWER_RETENTION_MS } from './idempotency.ts';
import { jsonSchema } from './json-schema.ts';
import type { Tool } from './tool.ts';
import { type CallToApprove, tryOut } from './try-out.ts';

/** In bytes of JSON. */
const LONGEST_SHOWN = 16 * 1024;

/** Tells the tool as it is from what it could become. */
function definitionHash({ name, description, input, annotations }: Tool): string {
  return hash('sha256', canonicalize([name, description, jsonSchema(input, 'input'), annotations]));
}

/** An approval given in one run of a flow does not count in another run. */
function attemptIn(principal: Principal): string[] {
  return actorsOf(principal)
    .flatMap(({ attempt }) => attempt ?? [])
    .slice(0, 1);
}

/** Whether a call that was cut off can be made again: nothing of it was kept, or the tool finds what it began. */
function isRepeatable({ annotations, inSteps, findsBegun }: Tool): boolean {
  return annotations.readOnlyHint || !inSteps || findsBegun === true;
}

/** Whether a call that was cut off may have done something outside, which a second one would do again. */
export function actsOutside(tool: Tool): boolean {
  const { openWorldHint, destructiveHint } = tool.annotations;
  return !isRepeatable(tool) && openWorldHint === true && destructiveHint === true;
}

/** Whether the server can make the call later: the caller is a credential, the call came without a file, and its answer may be kept. */
function runsAlone({ asked, tool }: CallToApprove): boolean {
  return (
    isCredential(asked.principal) &&
    !tool.answersSecret &&
    tool.session === undefined &&
    asked.attached?.() === undefined
  );
}

/** Holds calls back until a person said yes to exactly them. Running them once is left to idempotency. */
export class ApprovalGate {
  readonly #store: Store;
  readonly #server: ServerContext;
  readonly #hashOf: (value: object) => string;

  constructor(store: Store, server: ServerContext, hashOf: (value: object) => string) {
    this.#store = store;
    this.#server = server;
    this.#hashOf = hashOf;
  }

  /** The approval under which the call may run. @throws ToolError (approval_required), or that says why an approval does not fit */
  async admit(call: CallToApprove): Promise<ApprovalRecord> {
    const callerKey = callerKeyOf(call.asked.principal);
    const callKey = this.#hashOf([callerKey, call.tool.name, call.input, ...attemptIn(call.asked.principal)]);
    const { approvalId } = call.asked;
    if (approvalId !== undefined) {
      const named = await this.#store.approvals.get(approvalId);
      if (!named) throw new ToolError('not_found', `There is no approval ${approvalId}; make the call without one.`);
      if (named.callerKey !== callerKey) throw forbidden(`The approval ${named.id} is of a call of another caller.`);
      if (named.callKey !== callKey) throw new ToolError('conflict', other(named, call.tool));
      if (this.#isOver(named)) throw new ToolError('conflict', `The approval ${named.id} was used; ${ANEW}`);
      return this.#fit(named, call);
    }
    const known = await this.#store.approvals.first({ where: { slot: callKey } });
    if (known && !(await this.#isReplaced(known, call))) return this.#fit(known, call);
    return this.#ask(call, { callerKey, callKey }, known);
  }

  /** Called where the call is about to run, and no answer of it is kept. @throws ToolError (interrupted) if it began before and may have taken effect */
  async begin({ id }: ApprovalRecord, tool: Tool): Promise<void> {
    const isCutOff = await this.#store.transaction(async (tx) => {
      const { status } = await tx.approvals.read(id);
      const again = status === 'running' && isRepeatable(tool);
      if (status === 'approved' || again) await tx.approvals.update(id, { status: 'running' });
      else if (status === 'running') await tx.approvals.update(id, { status: 'unknown', problem: CUT_OFF, ...ENDS });
      return status !== 'approved' && !again;
    });
    if (isCutOff) throw new ToolError('interrupted', CUT_OFF);
  }

  /** Notes that the call ran, in the transaction that keeps its answer. */
  async ran(tx: Pick<Transaction, 'approvals'>, id: string, code?: ToolError['code']): Promise<void> {
    const found = await tx.approvals.get(id);
    if (found?.status !== 'running' && found?.status !== 'approved') return;
    const ranAt = this.#server.now().toISOString();
    // An agent that is cut off after its call makes it again, to get the answer.
    await tx.approvals.update(id, { status: 'done', ranAt, ...(code && { code }), ...(!found.repeats && ENDS) });
  }

  /** Notes that the call failed and its answer is not kept. If it certainly took no effect, it may be made again. */
  async failed({ id }: ApprovalRecord, tool: Tool, error: ToolError): Promise<void> {
    await this.#store.transaction(async (tx) => {
      const found = await tx.approvals.get(id);
      if (found?.status !== 'running') return;
      const goesOn = tool.resumes || tool.findsBegun;
      const inner = error.code === 'approval_required' && goesOn ? error.detail.approval : undefined;
      const isSure = error.detail.notMade || error.detail.wants || inner || isRepeatable(tool);
      if (!isSure) await tx.approvals.update(id, { status: 'unknown', problem: CUT_OFF, ...ENDS });
      else await tx.approvals.update(id, { status: 'approved', ...(inner && begunUntil(inner, found)) });
    });
  }

  /** Why the call may not run under this approval. Undefined if it may, or may yet. */
  async #problem(known: ApprovalRecord, call: CallToApprove): Promise<ToolError | undefined> {
    const end = endOf(known, this.#server.now());
    if (end) return end;
    const { id, status, begun } = known;
    const changed = status !== 'done' && !begun && (await this.#changedSince(known, call));
    if (!changed) return undefined;
    return new ToolError('conflict', `${changed} has changed since the approval ${id} was asked for; ${ANEW}`);
  }

  /** What is not as it was when the approval was asked for. */
  async #changedSince(known: ApprovalRecord, { asked, tool, input }: CallToApprove): Promise<string | undefined> {
    if (known.definition !== definitionHash(tool)) return `The tool ${tool.name}`;
    const reaches = await tool.reaches?.(input, this.#store, asked.principal);
    return reaches === known.reaches ? undefined : `What ${tool.name} reaches`;
  }

  /** Whether the answer of the call is kept no longer. */
  #isOver({ status, ranAt }: ApprovalRecord): boolean {
    return status === 'done' && Date.parse(ranAt ?? '') + ANSWER_RETENTION_MS <= this.#server.now().getTime();
  }

  /** Whether the same call asks anew. What was rejected, or is unknown, stays so until the approval would have expired. */
  async #isReplaced(known: ApprovalRecord, call: CallToApprove): Promise<boolean> {
    const now = this.#server.now();
    if (isExpired(known, now) || this.#isOver(known)) return true;
    const { status, expiresAt } = known;
    if (status === 'rejected' || status === 'unknown') return Date.parse(expiresAt) <= now.getTime();
    if (status === 'failed') return true;
    return status === 'waiting' && (await this.#changedSince(known, call)) !== undefined;
  }

  async #fit(known: ApprovalRecord, call: CallToApprove): Promise<ApprovalRecord> {
    const problem = await this.#problem(known, call);
    if (problem && known.status === 'approved') await this.#end(known.id, problem);
    if (problem) throw problem;
    if (known.status === 'waiting') throw this.#required(known, call.asked);
    return known;
  }

  async #end(id: string, { message }: ToolError): Promise<void> {
    await this.#store.transaction((tx) => endApproval(tx, id, message));
  }

  /** @throws ToolError (approval_required) */
  async #ask(
    call: CallToApprove,
    keys: Pick<ApprovalRecord, 'callerKey' | 'callKey'>,
    earlier: ApprovalRecord | undefined,
  ): Promise<never> {
    const { asked } = call;
    const wouldChange = await tryOut(this.#store, call, this.#server);
    const id = newId('apv');
    const record = await this.#record(id, call, keys);
    const kept = await this.#store
      .transaction(async (tx) => {
        const now = earlier && (await tx.approvals.get(earlier.id));
        if (now && now.slot === keys.callKey) await tx.approvals.update(now.id, { slot: now.id });
        return tx.approvals.insert({ ...record, id, ...(wouldChange && { wouldChange }) });
      }, asked.principal)
      .catch(async (thrown) => {
        // The same call asked in the same moment.
        const same = await this.#store.approvals.first({ where: { slot: keys.callKey } });
        if (thrown instanceof UniqueTaken && same) return same;
        throw thrown;
      });
    throw this.#required(kept, asked);
  }

  async #record(id: string, call: CallToApprove, keys: Pick<ApprovalRecord, 'callerKey' | 'callKey'>) {
    const { asked, tool, raw, input } = call;
    const { principal } = asked;
    const { secrets, catalog } = this.#server;
    if (!secrets) throw new ToolError('unavailable', 'This server has no key to seal the arguments of a call with.');
    const whole: SealedCall = { raw, input };
    if (!canBeSealed(whole)) {
      throw new ToolError(
        'invalid_input',
        'The call has to ask a person first, and its input is too large to wait; make it in parts, or send files in a form over REST.',
      );
    }
    const right = rightFor(tool, input);
    const reaches = await tool.reaches?.(input, this.#store, asked.principal);
    const { approvalHours = APPROVAL_HOURS } = (await this.#store.settings.get(SETTINGS_ID)) ?? {};
    const ends = this.#server.now().getTime() + approvalHours * 3_600_000;
    const credential = actorsOf(principal).find(isCredential) ?? principal;
    const ref = ({ type, id, name }: Principal) => ({ type, id, name });
    return {
      ...keys,
      status: 'waiting' as const,
      slot: keys.callKey,
      tool: tool.name,
      arguments: shownArguments(tool, input, { tools: catalog, longest: LONGEST_SHOWN }),
      sealed: secrets.seal(JSON.stringify(whole), approvalPlace(id)),
      definition: definitionHash(tool),
      ...(reaches !== undefined && { reaches }),
      ...(right && { right }),
      by: ref(principal),
      askedBy: principal.id,
      ...(principal.actsFor && { onBehalfOf: chainOf(principal).map(ref) }),
      persons: await behind(principal, this.#store),
      runAs: credentialRef(credential),
      scopes: [...new Set(principal.scopes)],
      ...(principal.grants && { grants: [...new Set(principal.grants.map(formatGrant))] }),
      door: asked.door,
      requestId: asked.requestId,
      expiresAt: new Date(ends).toISOString(),
      ...(!runsAlone(call) && { repeats: true as const }),
    };
  }

  #required({ id, expiresAt, repeats, tool }: ApprovalRecord, { principal, questions }: Call): ToolError {
    const url = approvalPage(this.#server, id);
    const then = repeats ? 'repeat the call after that' : 'then it runs, and the same call gets its answer';
    const message = `${tool} waits for approval until ${expiresAt}, see ${url}; ${then}. ${this.#howToFollow(id, principal)}`;
    // Shown once: a client that repeats the call has shown the link.
    const wants = questions && !questions.answers && { requests: { approval: linkTo(url, id, message) } };
    return new ToolError('approval_required', message, {
      approval: { approvalId: id, expiresAt, url },
      ...(wants && { wants }),
    });
  }

  /** Names a tool only to who may call it. */
  #howToFollow(id: string, principal: Principal): string {
    const named = FOLLOWING.find((name) => {
      const tool = this.#server.catalog.get(name)?.tool;
      return tool && seesTool(principal, tool);
    });
    return named ? `${named} {"id": "${id}"} shows how it stands.` : 'The same call shows how it stands.';
  }
}

/** A call that began lasts as long as what it waits for. */
function begunUntil(
  { expiresAt: until = '' }: { readonly expiresAt?: string | undefined },
  { expiresAt }: ApprovalRecord,
) {
  return { begun: true, expiresAt: until > expiresAt ? until : expiresAt } as const;
}

function linkTo(url: string, elicitationId: string, message: string) {
  return { method: 'elicitation/create', params: { mode: 'url', url, elicitationId, message } };
}

function other({ id, tool }: ApprovalRecord, now: Tool): string {
  const what = tool === now.name ? 'other arguments' : `the tool ${tool}`;
  return `The approval ${id} is for ${what}; ${ANEW}`;
}
