import type { z } from 'zod';
import type { Scope } from './scopes.ts';

/**
 * The right that a tool needs, as data: a scope, or a grant with the input member that names the record in braces (`agent:read:{id}`).
 * Where there are several grants, all are needed.
 */
export interface Access {
  readonly scope: Scope;
  readonly grant: string | readonly string[];
  /** For list, search and stats tools: a grant for some records is enough, and the handler shows only those. */
  readonly narrows?: true;
  /**
   * Further inputs that select records, each with the member of a record that must equal it, or `NAME` where the input is a name that
   * grants use. A capsule may fix such an input of a list, and then knows for each record whether it is in that list. Of other fixed inputs
   * it cannot know that.
   */
  readonly selects?: Readonly<Record<string, string | typeof NAME>>;
}

export const NAME = Symbol('name');

/** For a tool whose right depends on its input. */
export interface AccessByInput {
  readonly among: readonly Access[];
  /** The one of `among` that the input needs. The input may be unchecked. */
  of(input: object): Access;
  /** The right that covers all inputs together, where all inputs are about the same resources. */
  readonly whole?: Access;
}

/** Every authenticated principal may call the tool. */
export const ANYONE: Access = { scope: '', grant: [] };

/** What of a tool decides who may call it. */
export interface GuardedTool {
  readonly name: string;
  readonly access: Access | AccessByInput;
  readonly annotations: { readonly readOnlyHint: boolean };
  readonly input: z.ZodObject;
  /** Callable through its own door only, and never listed. */
  readonly doorOnly?: true;
  /** Leads to the tools the caller reaches, whatever they are, and is listed apart from them. */
  readonly discovery?: true;
  /** Of an integration: globs of allowlists reach it only where they name the integration. */
  readonly guest?: true;
  /** The tools that read or change the same record, of which this one is another way: `of` the record that the input names, and all. */
  readonly actsAs?: { readonly tools: readonly GuardedTool[]; of(input: object): GuardedTool | undefined };
  /** Finds records of many kinds by the rights of other tools. */
  readonly looksAcross?: true;
  /** The answer holds a secret that is shown once: it is never kept for a repeat. */
  readonly answersSecret?: true;
  /**
   * What the call does to the session of its caller, for the door to tell the caller's browser. One that `begins` it is called before there
   * is a principal, and authenticates by its input: whatever is wrong with that is `unauthenticated`. Its answer is never kept.
   */
  readonly session?: 'begins' | 'ends';
  /** Goes on with threads that its caller made, also where that one may do nothing else with threads; see `ownThreads`. */
  readonly continuesThreads?: true;
}
