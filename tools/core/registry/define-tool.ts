import type { z } from 'zod';
import type { ErrorCode } from '../../../resources/error.ts';
import type { Readers, TextSearch } from '../../../store/port.ts';
import type { HistoryWriters } from '../history-writers.ts';
import type { CallerContext, CallingContext, Context, SteppingContext } from './context.ts';
import { withBoundCursors } from './paging.ts';
import type { Annotations, Staged, Tool, ToolDefinition } from './tool.ts';

export type { Fail } from '../errors.ts';
export type { Annotations, Tool } from './tool.ts';

export const READS = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;
export const CREATES = { ...READS, readOnlyHint: false, idempotentHint: false } as const;
/** Hints of a tool that changes a record in a way that can be changed back. */
export const UPDATES = { ...READS, readOnlyHint: false } as const;
export const DELETES = { ...UPDATES, destructiveHint: true } as const;
/** The hint of a tool that reaches beyond this server. */
export const OUTSIDE = { openWorldHint: true } as const;
/** Hints of a tool that sends something, or runs an agent, which may do what its tools can do. */
export const ACTS_OUTSIDE = { ...CREATES, ...OUTSIDE, destructiveHint: true } as const;

/** Runs outside a transaction on a store it can only read. */
interface ReadTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends ToolDefinition<Input, Output, Code> {
  readonly annotations: Annotations & { readonly readOnlyHint: true };
  /** Whether the output says that the server does not work. REST then answers with the status 503. */
  tellsDown?(output: z.output<Output>): boolean;
  handler(input: z.output<Input>, context: CallingContext<Readers & TextSearch, Code>): Promise<z.input<Output>>;
}

/** Runs in one transaction, in which the audit entry and the versions of changed records are written too. */
interface WriteTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends ToolDefinition<Input, Output, Code>,
    Authorized<Input> {
  readonly annotations: Annotations & { readonly readOnlyHint: false };
  handler(input: z.output<Input>, context: Context<HistoryWriters, Code>): Promise<z.input<Output>>;
}

interface Authorized<Input extends z.ZodObject> {
  /**
   * Refuses a call that `access` admits and that goes beyond the caller's rights by what is stored: it gives rights away, steers what runs
   * with the rights of others, or concerns somebody of higher rank. Asked in the transaction before the handler, and by explain_access; says
   * nothing where a record is missing. @throws ToolError (forbidden)
   */
  authorize?(input: z.output<Input>, context: CallerContext): void | Promise<void>;
}

/** The same, with slow work done by `stage` before the transaction: it checks texts, or writes rows that count with the transaction. */
interface StagedTool<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  Code extends ErrorCode,
  Result extends Staged,
> extends ToolDefinition<Input, Output, Code>,
    Authorized<Input> {
  readonly annotations: Annotations & { readonly readOnlyHint: false };
  /** Whether this call stages nothing and reaches nothing outside, so that what it would change can be tried. */
  isPlain?(input: z.output<Input>): boolean;
  stage(input: z.output<Input>, context: Context<Readers & TextSearch, Code>): Promise<Result>;
  /** Whether the call only shows what it would do: nothing that the handler changes is kept. */
  isTrial?(input: z.output<Input>): boolean;
  handler(input: z.output<Input>, context: Context<HistoryWriters, Code>, staged: Result): Promise<z.input<Output>>;
}

/** Waits for something outside or calls other tools: changes data in steps, each in a transaction. The audit entry follows the last one. */
interface SteppedTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends ToolDefinition<Input, Output, Code> {
  readonly annotations: Annotations & { readonly readOnlyHint: false };
  readonly inSteps: true;
  /** When a step of a flow is tried again, the new call continues with what the first one began, found by the `attempt` of its principal. */
  readonly resumes?: true;
  /** A repeat under the same idempotency key finds what the first call began, and begins nothing twice. */
  readonly findsBegun?: true;
  /** Whether the answer is about work that continues. */
  isPending?(output: z.output<Output>): boolean;
  handler(input: z.output<Input>, context: SteppingContext<Readers & TextSearch, Code>): Promise<z.input<Output>>;
}

/** Runs nothing itself: its call becomes the call of the other tool that the input names. */
interface StandIn<Input extends z.ZodObject, Output extends z.ZodObject> extends ToolDefinition<Input, Output, never> {
  readonly annotations: Annotations;
  delegatesTo(input: z.output<Input>): { readonly tool: string; readonly input: unknown };
}

export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(tool: StandIn<Input, Output>): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: ReadTool<Input, Output, Code>,
): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: SteppedTool<Input, Output, Code>,
): Tool;
export function defineTool<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  Code extends ErrorCode = never,
  Result extends Staged = Staged,
>(tool: StagedTool<Input, Output, Code, Result>): Tool;
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode = never>(
  tool: WriteTool<Input, Output, Code>,
): Tool;
export function defineTool(tool: object): Tool {
  // The registry calls a handler with the parsed input and the kind of store that its annotations ask for; the overloads tie both to its types.
  return Object.freeze(withBoundCursors(tool as Tool));
}
