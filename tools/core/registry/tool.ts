import type { z } from 'zod';
import type { ErrorCode } from '../../../resources/error.ts';
import type { Readers } from '../../../store/port.ts';
import type { GuardedTool } from '../access/guarded-tool.ts';
import type { Principal } from '../access/principal.ts';
import type { RecordKind } from '../kind.ts';

export interface Annotations {
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** To whom an output is shown, and what decides it. */
interface Showing {
  readonly store: Readers;
  readonly principal: Principal;
  readonly server: { readonly kinds: readonly RecordKind[] };
}

export interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject, Code extends ErrorCode>
  extends GuardedTool {
  readonly title: string;
  /** For a model that chooses among all tools: what it does, when to use it, what it returns. */
  readonly description: string;
  /** What people say who want this tool, for `search_tools`: other names of the thing, neighbouring products, the task. Phrases with commas between. */
  readonly keywords?: string;
  readonly input: Input;
  /** Names that similar tools have for members of the input, each with its name here. Callers may use either. */
  readonly aliases?: Readonly<Record<string, string>>;
  readonly output: Output;
  /** The error codes that it can answer with, besides those of every tool. */
  readonly errors: readonly Code[];
  /** The output is a tool result of MCP itself, made elsewhere: `content`, and `structuredContent` if there is any. */
  readonly answersContent?: true;
  /** Where the call goes or what it takes along, as records say that can change: an approval holds for that alone. */
  reaches?(input: object, store: Readers, caller: Principal): Promise<string | undefined>;
  /** The part of the output that this caller may see. It also applies to a kept answer, by the rights of the repeat. */
  shown?(output: z.output<Output>, caller: Showing): z.output<Output> | Promise<z.output<Output>>;
  /** Takes rows or tables: its input may hold more members than others (`inputLimitsOf`). */
  readonly bulk?: true;
  /** It is not a tool to callers, but a prompt or the resources of an integration: the doors that serve those call it. */
  readonly serves?: Served;
  /** The page in which hosts show its answers. */
  readonly view?: View;
  /** Reports events while it runs; REST sends them as they come if the client asks for that. */
  readonly streams?: true;
}

/** What an entry of the catalog is that is called like a tool and listed as something else. */
export type Served = ServedPrompt | ServedResources;

export interface ServedPrompt {
  readonly kind: 'prompt';
  /** Its name here. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments: readonly {
    readonly name: string;
    readonly description?: string | undefined;
    readonly required?: boolean | undefined;
  }[];
}

export interface ServedResources {
  readonly kind: 'resources';
  readonly verb: 'list' | 'read';
  /** The part of their addresses here that says whose they are. */
  readonly prefix: string;
  readonly templates: readonly {
    readonly uriTemplate: string;
    readonly name?: string | undefined;
    readonly title?: string | undefined;
    readonly description?: string | undefined;
    readonly mimeType?: string | undefined;
  }[];
}

/** What a tool makes before its transaction begins. */
export interface Staged {
  /** Frees what it holds, whatever became of the transaction. */
  discard(): Promise<void>;
}

/** Any tool, as the registry sees it. */
export interface Tool extends ToolDefinition<z.ZodObject, z.ZodObject, ErrorCode> {
  readonly annotations: Annotations;
  readonly inSteps?: true;
  readonly resumes?: true;
  readonly findsBegun?: true;
  authorize?(input: object, context: object): void | Promise<void>;
  isPending?(output: object): boolean;
  tellsDown?(output: object): boolean;
  delegatesTo?(input: object): { readonly tool: string; readonly input: unknown };
  isPlain?(input: object): boolean;
  stage?(input: object, context: object): Promise<Staged>;
  isTrial?(input: object): boolean;
  /** Run by the registry alone, with the context that the definition asks for. */
  handler(input: object, context: object, staged?: Staged): Promise<unknown>;
}

/** The pages in which hosts show the answers of tools (MCP Apps). A tool has one of them by its member `view`. */
export const VIEWS = ['chart', 'report', 'diff', 'run', 'search'] as const;
export type View = (typeof VIEWS)[number];

const BEGINNING = 'ui://agent-admin/';

/** The address under which hosts read the page. */
export function viewUri(view: View): string {
  return `${BEGINNING}${view}`;
}

/** The page at the address. Undefined if there is none. */
export function viewAt(uri: string): View | undefined {
  return VIEWS.find((view) => viewUri(view) === uri);
}
