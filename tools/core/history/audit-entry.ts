import { type AuditEntry, type Door, type Outcome, subjectsOf } from '../../../resources/audit-entry.ts';
import type { ErrorCode } from '../../../resources/error.ts';
import { isObject } from '../../../resources/json.ts';
import { newId } from '../../../store/ids.ts';
import { withoutCredentials } from '../access/key-secret.ts';
import { actorsOf, chainOf, isSession, type Principal, type SessionPrincipal } from '../access/principal.ts';
import type { Call } from '../registry/call.ts';
import type { Tool } from '../registry/tool.ts';
import { redacted, type ToolsByName } from './redact.ts';

/** Size in bytes of JSON. */
export const LONGEST_ARGUMENTS = 4096;

/** When a call began. The id of its entry is made then, so that a call sorts before the calls made inside of it, even within a millisecond. */
export interface CallStart {
  readonly id: string;
  readonly at: Date;
  /** Time by `performance.now()`, which a change of the clock does not affect. */
  readonly ms: number;
}

export function startCall(at: Date, id = newId('aud')): CallStart {
  return { id, at, ms: performance.now() };
}

interface AuditedCall {
  readonly asked: Pick<Call, 'requestId' | 'door' | 'principal'>;
  readonly wanted: Pick<Call, 'tool'>;
  readonly tool: Tool | undefined;
  readonly begun: CallStart;
  /** The input as it was read. It may be unchecked. */
  readonly given: unknown;
  /** The checked input, with ids in place of names. Undefined if the call was refused before. */
  readonly input: object | undefined;
  readonly session?: SessionPrincipal | undefined;
}

/** The error code of a failed call, or the output of a write, which holds the ids of the records it made. */
interface CallResult {
  readonly code?: ErrorCode;
  readonly output?: object;
}

/** Replaces unknown tool names, because callers can invent any number of them. */
const UNKNOWN_TOOL = '(unknown)';
const LONGEST_NAME = 100;

export function callEntry(call: AuditedCall, { code, output }: CallResult, tools: ToolsByName): AuditEntry {
  const { asked, wanted, tool, begun, given, input, session } = call;
  const args = tool
    ? shownArguments(tool, given, { tools, longest: LONGEST_ARGUMENTS })
    : { name: withoutCredentials(wanted.tool).slice(0, LONGEST_NAME) };
  return auditEntryOf({
    begun,
    requestId: asked.requestId,
    door: asked.door,
    principal: session ?? asked.principal,
    tool: tool?.name ?? UNKNOWN_TOOL,
    arguments: args,
    recordIds: session ? [session.sessionId] : unnamedRecords(args, input ?? given, output),
    code,
  });
}

function unnamedRecords(args: object, input: unknown, output: object | undefined): string[] {
  const shown = subjectsOf(args);
  const others = [...subjectsOf(input), ...subjectsOf(output)].filter(
    (id) => !shown.includes(id) && withoutCredentials(id) === id,
  );
  return others.length > 1 ? [...new Set(others)] : others;
}

interface CallRecord {
  readonly begun: CallStart;
  readonly requestId: string;
  readonly door: Door;
  readonly principal: Principal;
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  readonly recordIds?: readonly string[];
  readonly code?: ErrorCode | undefined;
}

/** All audit entries are made here. */
export function auditEntryOf(call: CallRecord): AuditEntry {
  const { begun, principal, code, recordIds = [] } = call;
  const session = actorsOf(principal).find(isSession);
  return {
    at: textOf(begun.at),
    id: begun.id,
    requestId: call.requestId,
    door: call.door,
    tool: call.tool,
    arguments: call.arguments,
    principal: refOf(principal),
    ...(session && { sessionId: session.sessionId }),
    ...(principal.actsFor && { onBehalfOf: chainOf(principal).map(refOf) }),
    ...(recordIds.length > 0 && { recordIds: [...recordIds] }),
    outcome: outcomeOf(code),
    ...(code && { code }),
    durationMs: Math.round((performance.now() - begun.ms) * 1000) / 1000,
  };
}

const latest = { ms: Number.NaN, text: '' };

/** The time as text, kept for further calls in the same millisecond. */
function textOf(at: Date): string {
  const ms = at.getTime();
  if (ms !== latest.ms) Object.assign(latest, { ms, text: at.toISOString() });
  return latest.text;
}

function refOf({ type, id, name }: Principal) {
  return { type, id, name };
}

function outcomeOf(code: ErrorCode | undefined): Outcome {
  if (!code) return 'ok';
  if (code === 'forbidden' || code === 'unauthenticated' || code === 'rate_limited' || code === 'approval_required')
    return 'denied';
  return code === 'invalid_input' ? 'invalid' : 'failed';
}

interface Showing {
  /** Finds the tools whose arguments the input may hold. */
  readonly tools: ToolsByName;
  /** Size in bytes of JSON. */
  readonly longest: number;
}

/** The arguments as others may see them: sensitive values and unknown members replaced, cut after so many bytes. */
export function shownArguments(
  tool: Pick<Tool, 'input'>,
  input: unknown,
  { tools, longest }: Showing,
): Record<string, unknown> {
  if (!isObject(input)) return {};
  try {
    const shown = redacted(tool, input, tools, longest + 1);
    if (isShort(shown, longest)) return shown;
    const text = JSON.stringify(shown);
    return Buffer.byteLength(text) <= longest ? shown : { truncated: truncatedBytes(text, longest) };
  } catch {
    return { truncated: '[nested too deep]' };
  }
}

/** Leaves out the last character if the cut goes through it. */
function truncatedBytes(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}

/** Whether a few plain values are short however their characters are escaped, so that they need not be written out to be measured. */
function isShort(shown: Readonly<Record<string, unknown>>, longest: number): boolean {
  let length = 2;
  for (const [name, value] of Object.entries(shown)) {
    if (typeof value === 'string') length += value.length * LONGEST_ESCAPE;
    else if (typeof value !== 'number' && typeof value !== 'boolean' && value !== null) return false;
    length += name.length * LONGEST_ESCAPE + LONGEST_NUMBER;
  }
  return length <= longest;
}

/** `\u0000`. */
const LONGEST_ESCAPE = 6;
/** In characters, with the comma. */
const LONGEST_NUMBER = 30;
