import { z } from 'zod';
import type { AuditEntry, Door, Outcome } from '../resources/audit-entry.ts';
import type { ErrorCode } from '../resources/error.ts';
import { sensitive } from '../resources/markers.ts';
import { chainOf, type Principal } from './access/principal.ts';
import type { Tool } from './define-tool.ts';
import { unwrap } from './validate.ts';

const LONGEST_ARGUMENTS = 4096;
export const REDACTED = '[redacted]';
const UNKNOWN = '[unknown member]';

/** What one call leaves behind, whatever came of it. */
export interface CallRecord {
  /** Made when the call began, so that entries of one millisecond sort by beginning: a call before those made in it. */
  readonly id: string;
  readonly requestId: string;
  readonly door: Door;
  readonly principal: Principal;
  readonly tool: string;
  readonly arguments: Record<string, unknown>;
  readonly recordIds: readonly string[];
  readonly at: Date;
  readonly durationMs: number;
  readonly code?: ErrorCode | undefined;
}

/** The only maker of audit entries. */
export function auditEntryOf(call: CallRecord): AuditEntry {
  const { principal, code, recordIds } = call;
  return {
    at: call.at.toISOString(),
    id: call.id,
    requestId: call.requestId,
    door: call.door,
    tool: call.tool,
    arguments: call.arguments,
    principal: refOf(principal),
    ...(principal.actsFor && { onBehalfOf: chainOf(principal).map(refOf) }),
    ...(recordIds.length > 0 && { recordIds: [...recordIds] }),
    outcome: outcomeOf(code),
    ...(code && { code }),
    durationMs: Math.round(call.durationMs * 1000) / 1000,
  };
}

function refOf({ type, id, name }: Principal) {
  return { type, id, name };
}

function outcomeOf(code: ErrorCode | undefined): Outcome {
  if (!code) return 'ok';
  if (code === 'forbidden' || code === 'unauthenticated' || code === 'rate_limited') return 'denied';
  return code === 'invalid_input' ? 'invalid' : 'failed';
}

interface Redactor {
  /** Whether something below is sensitive; then a value of another shape than the schema's is replaced whole. */
  readonly guards: boolean;
  redact(value: unknown): unknown;
}
const PLAIN: Redactor = { guards: false, redact: (value) => value };
const HIDDEN: Redactor = { guards: true, redact: () => REDACTED };
const NAMELESS: Redactor = {
  guards: true,
  redact: (value) => (typeof value === 'string' ? value.replace(/\/\/[^/]*@/, `//${REDACTED}@`) : unfit(HIDDEN, value)),
};
const redactors = new WeakMap<z.ZodObject, Redactor>();

/** The arguments as the audit log keeps them: sensitive values and unknown members replaced, cut at 4 KiB. */
export function auditedArguments(tool: Pick<Tool, 'input'>, input: unknown): Record<string, unknown> {
  return shownArguments(tool, input, LONGEST_ARGUMENTS);
}

/** The same, cut after so many bytes of JSON. */
export function shownArguments(tool: Pick<Tool, 'input'>, input: unknown, longest: number): Record<string, unknown> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return {};
  const shown = redacted(tool, input);
  if (isShort(shown, longest)) return shown;
  try {
    const text = JSON.stringify(shown);
    return Buffer.byteLength(text) <= longest ? shown : { truncated: beginningOf(text, longest) };
  } catch {
    return { truncated: '[nested too deep]' };
  }
}

/** Without the character that the end would cut in two. */
function beginningOf(text: string, bytes: number): string {
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
/** With what stands around it. */
const LONGEST_NUMBER = 30;

/** The arguments with sensitive values and unknown members replaced. */
export function redacted({ input: schema }: Pick<Tool, 'input'>, input: object): Record<string, unknown> {
  let redactor = redactors.get(schema);
  if (!redactor) {
    redactor = redactorOf(schema);
    redactors.set(schema, redactor);
  }
  return redactor.redact(input) as Record<string, unknown>; // a redactor of an object schema maps objects to objects
}

/** Made once per schema. */
function redactorOf(schema: unknown): Redactor {
  const mark = schema instanceof z.ZodType ? sensitive.get(schema) : undefined;
  if (mark) return mark.part === 'all' ? HIDDEN : NAMELESS;
  const inner = unwrap(schema);
  if (inner !== schema) return redactorOf(inner);
  if (schema instanceof z.ZodObject) return objectRedactor(schema);
  if (schema instanceof z.ZodArray) {
    const item = redactorOf(schema.element);
    return {
      guards: item.guards,
      redact: (value) => (Array.isArray(value) ? value.map(item.redact) : unfit(item, value)),
    };
  }
  return PLAIN;
}

function objectRedactor(schema: z.ZodObject): Redactor {
  const members = new Map(Object.entries(schema.shape).map(([name, member]) => [name, redactorOf(member)]));
  const guards = [...members.values()].some((member) => member.guards);
  const redact = (value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return unfit({ guards }, value);
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [
        name,
        members.has(name) ? members.get(name)?.redact(item) : UNKNOWN,
      ]),
    );
  };
  return { guards, redact };
}

function unfit({ guards }: { readonly guards: boolean }, value: unknown): unknown {
  return guards && value !== null ? REDACTED : value;
}
