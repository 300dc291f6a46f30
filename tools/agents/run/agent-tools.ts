import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordRevision, WaitingCall } from '../../../resources/agent-run.ts';
import type { ErrorCode } from '../../../resources/error.ts';
import { isObject } from '../../../resources/json.ts';
import { newId } from '../../../store/ids.ts';
import { offered } from '../../core/access/agent-principal.ts';
import type { CheckCredential } from '../../core/access/credential-status.ts';
import type { Principal } from '../../core/access/principal.ts';
import { shownArguments } from '../../core/history/audit-entry.ts';
import { storable, storableText } from '../../core/models/sanitize-text.ts';
import { canBeSealed } from '../../core/registry/approvals.ts';
import { type Answer, retryDelayMs } from '../../core/registry/call.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import type { CallingContext } from '../../core/registry/context.ts';
import type { Tool } from '../../core/registry/define-tool.ts';
import { jsonSchema, withoutMembers } from '../../core/registry/json-schema.ts';

export interface ToolCall {
  /** The id in a form that can be stored. The model knows the call by it too. */
  readonly id: string;
  readonly modelId: string;
  readonly tool: string;
  /** The arguments as the model wrote them, for running the call. */
  readonly input: unknown;
  /** The arguments in a form that can be shown and stored. */
  readonly arguments: Record<string, unknown>;
}

export interface ToolResult {
  readonly ok: boolean;
  /** JSON, shortened where it is long. */
  readonly text: string;
  /** Absent if the call was not run. */
  readonly evidence?: Evidence;
  /** The call waits for a person. */
  readonly waits?: { readonly approvalId: string; readonly url: string };
  /** The run that it began waits, and the same call under this key goes on with it. */
  readonly inner?: Omit<NonNullable<WaitingCall['inner']>, 'sealed'>;
}

/** Where to find what a call did. */
export interface Evidence {
  readonly auditId?: string;
  readonly code?: ErrorCode;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** Records in the answer, each in the state that was answered. */
  readonly records: RecordRevision[];
  readonly runId?: string;
}

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A tool that exists only in the loop and is not in the catalog. */
export interface LoopTool extends OfferedTool {
  run(input: unknown, auditId: string): Promise<Answer>;
}

/** The largest number of tools that providers accept. */
export const MOST_TOOLS = 128;
/** Calls that were not made are made again within this time; then the model is told. */
const REPEAT_MS = 30_000;
/** The model sees this many characters of a result. */
export const LONGEST_RESULT = 16_000;
/** This many characters of a tool's name or a call's id are kept. */
const LONGEST_NAME = 200;
const UNNAMED = '(unnamed)';
/** This many characters of the arguments (JSON) are kept. */
export const LONGEST_ARGUMENTS = 20_000;

interface AgentToolsOptions {
  readonly principal: Principal;
  /** Finds the principal again, as it is when a call is made. */
  readonly checkCredential: CheckCredential | undefined;
  readonly catalog: Catalog;
  readonly call: CallingContext<unknown, never>['call'];
  readonly signal: AbortSignal;
  readonly own: readonly LoopTool[];
  /** Whether the run can be continued later, when a person has decided about a call. */
  readonly pauses: boolean;
}

/** What is known of a call that was made before. */
export interface EarlierCall {
  /** What a person has decided about it. */
  readonly approvalId?: string | undefined;
  readonly key?: string | undefined;
}

/** The tools of an agent in a run. Every call goes through the registry, with the agent as the principal. */
export class AgentTools {
  readonly offered: readonly OfferedTool[];
  readonly #options: AgentToolsOptions;
  readonly #names: ReadonlyMap<string, string>;

  constructor(options: AgentToolsOptions) {
    const { principal, catalog, own } = options;
    // Providers refuse a list with the same name twice, and an integration can give its tools any name.
    const shown = offered(principal, catalog, MOST_TOOLS - own.length).filter(
      ({ name }) => !own.some((mine) => mine.name === offeredName(name)),
    );
    this.#options = options;
    this.#names = new Map(shown.map(({ name }) => [offeredName(name), name]));
    this.offered = [
      ...own,
      ...shown.map((tool) => ({
        name: offeredName(tool.name),
        description: tool.description,
        inputSchema: inputOf(tool, principal),
      })),
    ];
  }

  /** Describes a call of the model: the tool's own name, and arguments without anything that may not be shown. */
  describe(modelId: string, offered: string, input: unknown): ToolCall {
    const tool = this.#names.get(offered) ?? (storableText(offered).slice(0, LONGEST_NAME) || UNNAMED);
    const id = storableText(modelId).slice(0, LONGEST_NAME) || UNNAMED;
    const tools = this.#options.catalog;
    const known = tools.get(tool)?.tool;
    const given = isObject(input) ? { ...input } : {};
    const shown = known ? shownArguments(known, given, { tools, longest: LONGEST_ARGUMENTS }) : {};
    return { id, modelId, tool, input, arguments: storable(shown) as Record<string, unknown> }; // an object stays an object
  }

  async run({ tool, input }: Pick<ToolCall, 'tool' | 'input'>, before: EarlierCall = {}): Promise<ToolResult> {
    const { own, call, principal, checkCredential, signal } = this.#options;
    const mine = own.find(({ name }) => name === tool);
    const begun = performance.now();
    const { approvalId, key = this.#keyFor(tool, input) } = before;
    const idempotency = key === undefined ? undefined : { key, operation: `agent call ${tool}` };
    // A tool that the model was not offered is called too: the registry refuses the call and the audit log records it.
    const { answer, auditId } = await this.#untilMade((auditId) =>
      mine
        ? mine.run(input, auditId)
        : call(tool, input, { principal, checkCredential, door: 'agent', signal, auditId, approvalId, idempotency }),
    );
    const common = { auditId, ms: performance.now() - begun };
    if (answer.ok) {
      const text = cut(JSON.stringify(answer.output));
      return {
        ok: true,
        text,
        evidence: { ...common, ...(answer.isContent ? { records: [] } : found(answer.output)) },
      };
    }
    const { requestId: _, ...error } = answer.error;
    const { code, approvalId: waitsFor, url = '', runId } = error;
    const evidence = { ...common, code, records: [], ...(runId !== undefined && { runId }) };
    const waits = code === 'approval_required' && waitsFor !== undefined && { waits: { approvalId: waitsFor, url } };
    const under = approvalId !== undefined && { approvalId };
    const inner = waits && runId !== undefined && key !== undefined && { inner: { runId, key, ...under } };
    return { ok: false, text: cut(JSON.stringify(error)), evidence, ...waits, ...inner };
  }

  /** A key for a call that may begin a run, which waits only where it can be found again. */
  #keyFor(tool: string, input: unknown): string | undefined {
    const { pauses, catalog } = this.#options;
    const delegates = catalog.get(tool)?.tool.delegatesTo !== undefined;
    const begins = tool === INVOKE || (delegates && isObject(input) && input.name === INVOKE);
    return pauses && begins && canBeSealed(input) ? randomUUID() : undefined;
  }

  /** Makes the call, and again where it was certainly not made, so that the model need not know how. */
  async #untilMade(make: (auditId: string) => Promise<Answer>): Promise<CallOutcome> {
    const { signal } = this.#options;
    const begun = performance.now();
    for (let count = 0; ; count += 1) {
      const auditId = newId('aud');
      const answer = await make(auditId);
      const delay = retryDelayMs(answer, { count, sinceMs: performance.now() - begun, withinMs: REPEAT_MS });
      if (delay === undefined) return { answer, auditId };
      await sleep(delay, undefined, { signal }).catch(() => {}); // the loop looks at the signal
      if (signal.aborted) return { answer, auditId };
    }
  }
}

interface CallOutcome {
  readonly answer: Answer;
  /** Of the last call. */
  readonly auditId: string;
}

/** More records of one answer are not kept. */
const MOST_RECORDS = 50;

function found(output: object): Pick<Evidence, 'records' | 'runId'> {
  const list = 'data' in output && Array.isArray(output.data) ? (output.data as unknown[]) : [output]; // of unknown items
  const records = list.filter(isRecord).slice(0, MOST_RECORDS);
  const runId = 'runId' in output && typeof output.runId === 'string' ? { runId: output.runId } : {};
  return { records: records.map(({ id, revision }) => ({ id, revision })), ...runId };
}

function isRecord(value: unknown): value is RecordRevision {
  if (typeof value !== 'object' || value === null) return false;
  return 'id' in value && typeof value.id === 'string' && 'revision' in value && typeof value.revision === 'number';
}

function inputOf(tool: Tool, { tools }: Principal): Readonly<Record<string, unknown>> {
  const schema = jsonSchema(tool.input, 'input');
  const fixed = tools?.fixed?.(tool);
  return fixed ? withoutMembers(schema, Object.keys(fixed)) : schema;
}

function cut(text: string): string {
  if (text.length <= LONGEST_RESULT) return text;
  const left = text.length - LONGEST_RESULT;
  return `${text.slice(0, LONGEST_RESULT).toWellFormed()} … (cut: ${left} more characters; ask for less, for example by \`limit\`, or for the rest by \`offset\` where the tool has it)`;
}

const INVOKE = 'invoke_agent';

const FITS = /^[A-Za-z0-9_-]{1,64}$/;

/** The name under which a tool is offered to a model: its own, or a similar one that providers accept. */
export function offeredName(name: string): string {
  if (FITS.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${digest}`;
}
