import type { z } from 'zod';
import type { ErrorCode } from '../../resources/error.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import type { Principal } from '../access/principal.ts';
import type { Access, AccessByInput } from '../access/requirement.ts';
import type { HistoryWriters } from '../versions/history.ts';
import type { CallingContext, Context, SteppingContext } from './context.ts';
import type { ErrorDetail, ToolError } from './errors.ts';
import { withOwnCursors } from './paging.ts';

export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** Hints of a tool that only reads the workspace. */
export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Hints of a tool that adds something new with each call. */
export const CREATES = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: false,
} as const;
/** Hints of a tool that changes a record in a way that can be changed back. */
export const UPDATES = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
/** Hints of a tool that takes something away. */
export const DELETES = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: false,
} as const;

export type Fail<Code extends ErrorCode> = (
  code: Code | 'invalid_input' | 'forbidden' | 'unavailable',
  message: string,
  detail?: ErrorDetail,
) => ToolError;

interface Meaning<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode> {
  /** `verb_noun`. */
  readonly name: string;
  readonly title: string;
  /** For a model that chooses among all tools: what it does, when to use it, what it returns. */
  readonly description: string;
  readonly access: Access | AccessByInput;
  readonly input: Input;
  readonly output: Output;
  /** Codes it can answer with besides those every tool can. */
  readonly errors: readonly Code[];
  /** Callable through its own door only, and never listed. */
  readonly doorOnly?: true;
  /** Leads to the tools the caller reaches, whatever they are, and is listed apart from them. */
  readonly discovery?: true;
  /** The answer holds a secret that is shown once: it is never kept for a repeat. */
  readonly answersSecret?: true;
  /** Of an integration: globs of allowlists reach it only where they name the integration. */
  readonly guest?: true;
  /** The output is a tool result of MCP itself, made elsewhere: `content`, and `structuredContent` where there is any. */
  readonly answersContent?: true;
  /**
   * What the call does to the session of its caller, for the door to tell the caller's browser. One that `begins` it is called before there
   * is a principal, and authenticates by its input: whatever is wrong with that is `unauthenticated`. Its answer is never kept.
   */
  readonly session?: 'begins' | 'ends';
  /** What of the output this caller may see. A kept answer is shown by it too, by the rights of the repeat. */
  shown?(output: z.output<Output>, principal: Principal): z.output<Output>;
  /** The tools that read or change the same record, of which this one is another way: `of` the record that the input names, and all. */
  readonly actsAs?: { readonly tools: readonly Tool[]; of(input: object): Tool | undefined };
  /** Goes on with threads that its caller made, also where that one may do nothing else with threads; see `ownThreads`. */
  readonly continuesThreads?: true;
  /** Finds records of many kinds by the rights of other tools. */
  readonly looksAcross?: true;
  /** Reports events while it runs; REST sends them as they come where the client wants that. */
  readonly streams?: true;
}

/** Runs outside a transaction on a store it can only read. */
export interface ReadTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends Meaning<Input, Output, Code> {
  readonly annotations: Annotations & { readonly readOnlyHint: true };
  /** Whether the output tells that the server does not work, which REST says by the status 503. */
  tellsDown?(output: z.output<Output>): boolean;
  handler(input: z.output<Input>, context: CallingContext<Readers & TextSearch, Code>): Promise<z.input<Output>>;
}

/** Runs in one transaction, in which the audit entry and the versions of changed records are written too. */
export interface WriteTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends Meaning<Input, Output, Code> {
  readonly annotations: Annotations & { readonly readOnlyHint: false };
  handler(input: z.output<Input>, context: Context<HistoryWriters, Code>): Promise<z.input<Output>>;
}

/**
 * Runs outside a transaction and changes data in steps, each in one of its own: for calls that wait for something outside, or that
 * call other tools. The audit entry follows the last step and is stored before the answer is given.
 */
export interface SteppedTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends Meaning<Input, Output, Code> {
  readonly annotations: Annotations & { readonly readOnlyHint: false };
  readonly inSteps: true;
  /** A try of a step of a flow that is made again goes on with what it began before, by the `attempt` of its principal. */
  readonly resumes?: true;
  /** Whether the answer tells of work that goes on. */
  goesOn?(output: z.output<Output>): boolean;
  handler(input: z.output<Input>, context: SteppingContext<Readers & TextSearch, Code>): Promise<z.input<Output>>;
}

/** Runs nothing: its call is, in every respect, the call of the other tool that the input names. */
export interface StandIn<Input extends z.ZodObject, Output extends z.ZodObject> extends Meaning<Input, Output, never> {
  readonly annotations: Annotations;
  standsFor(input: z.output<Input>): { readonly tool: string; readonly input: unknown };
}

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(tool: StandIn<Input, Output>): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: ReadTool<Input, Output, Code>,
): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: SteppedTool<Input, Output, Code>,
): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: WriteTool<Input, Output, Code>,
): Tool;
export function defineTool(tool: object): Tool {
  // The registry calls a handler with the parsed input and the kind of store its annotations ask for, which the overloads tie to its types.
  return Object.freeze(withOwnCursors(tool as Tool));
}

/** Any tool, as the registry sees it. */
export interface Tool extends Meaning<z.ZodObject, z.ZodObject, ErrorCode> {
  readonly annotations: Annotations;
  readonly inSteps?: true;
  readonly resumes?: true;
  goesOn?(output: object): boolean;
  tellsDown?(output: object): boolean;
  standsFor?(input: object): { readonly tool: string; readonly input: unknown };
  handler(input: object, context: SteppingContext<HistoryWriters, ErrorCode>): Promise<unknown>;
}
