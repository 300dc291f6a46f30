import type { z } from 'zod';
import type { ThreadRole } from '../../../resources/thread.ts';
import type { Readers } from '../../../store/port.ts';
import type { Scope } from './scopes.ts';

/** The right that a tool needs: a scope, or grants, all of them, with the input member that names the record in braces (`agent:read:{id}`). */
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
  /** Nobody without full access may call it, whatever their grants: it has somebody act with full access, or runs programs. */
  readonly fullAccess?: true;
}

export const NAME = Symbol('name');

export interface AccessByInput {
  readonly among: readonly Access[];
  /** The one of `among` that the input needs. The input may be unchecked. */
  of(input: object): Access;
  /** The right that covers all inputs together, where all inputs are about the same resources. */
  readonly whole?: Access;
}

/** Every authenticated principal may call the tool. */
export const ANYONE: Access = { scope: '', grant: [] };

/** What a call makes or changes that continues after the session of its caller has ended. */
export interface LastingEffect {
  /** `credential`: lets somebody in. `program`: runs on the server. `actor`: acts by itself or when asked from outside. `person`: may sign in. */
  readonly what: 'credential' | 'program' | 'actor' | 'person';
  /** Whether this call does so. Default: every call does. */
  of?(input: object, store: Readers): boolean | Promise<boolean>;
}

/** The parts of a tool that decide who may call it. */
export interface GuardedTool {
  readonly name: string;
  readonly access: Access | AccessByInput;
  readonly annotations: { readonly readOnlyHint: boolean };
  readonly input: z.ZodObject;
  /** Inputs that say more of another one. Where a limit fixes that one, they cannot be given either. */
  readonly boundTo?: Readonly<Record<string, string>>;
  /** Only its own door can call it, and it is never listed. */
  readonly doorOnly?: true;
  /** Calls need approval whatever the caller's `askFirst`: always, or where this is true. It may throw for a call that cannot be made. `inPerson`: a signed-in person calls. */
  readonly needsApproval?: true | ((input: object, store: Readers, inPerson: boolean) => Promise<boolean>);
  /** Leads to a person who is asked, so its own calls never wait for one. */
  readonly neverAsks?: true;
  /** Leads to all tools that the caller may call, and is listed apart from them. */
  readonly discovery?: true;
  /** Manages what belongs to the person who calls, so no capsule or agent ever has it. */
  readonly forPeople?: true;
  /** No tool to callers, but something else that is called like one. Allowlists match it by its name. */
  readonly serves?: object;
  /** Belongs to an integration. Globs of allowlists match it only where they name the integration. */
  readonly guest?: true;
  /** This tool is another way to the records of `tools`. `of` returns the one of them for the record that the input names. */
  readonly actsAs?: { readonly tools: readonly GuardedTool[]; of(input: object): GuardedTool | undefined };
  /** Finds records of many kinds by the rights of other tools. */
  readonly looksAcross?: true;
  /** The answer holds a secret that is shown once, so it is never stored for a repeat, and a session needs a fresh sign-in for it. */
  readonly answersSecret?: true;
  /** What outlives the session of the caller, who therefore needs a fresh sign-in (`fresh-sign-in.ts`). */
  readonly lasting?: LastingEffect;
  /** What the call does to the session, for the browser's cookie. `begins`: no principal, every fault is `unauthenticated`, nothing is stored. */
  readonly session?: 'begins' | 'ends';
  /** A person who is signed in may call it for what is their own, whatever their other rights. The handler leaves out what is not. */
  readonly own?: true;
  /** The role that a call needs in the thread that it names, where that is more than to see it. */
  readonly threadRole?: ThreadRole;
  /** Continues threads that its caller made, also where the caller has no other right to threads; see `ownThreads`. */
  readonly continuesThreads?: true;
}

/** All tools, in a fixed order, found by name, as far as they decide who may call them. */
export interface GuardedCatalog {
  readonly entries: readonly GuardedEntry[];
  get(name: string): GuardedEntry | undefined;
}

export interface GuardedEntry {
  readonly tool: GuardedTool;
}

/** Whether lists and allowlists know the tool. */
export function isListed({ doorOnly, discovery, serves }: GuardedTool): boolean {
  return !doorOnly && !discovery && !serves;
}

/** A limit to some tools, besides the principal's rights. A call must be allowed by both. */
export interface ToolLimit {
  /** What sets the limit, in the words of refusals, for example `the capsule "Support"`. */
  readonly holder: string;
  /** Equal for limits that admit the same calls. */
  readonly fingerprint: string;
  allows(tool: GuardedTool): boolean;
  /** The entry that denies the tool, where one does. */
  deniedBy?(tool: GuardedTool): string | undefined;
  /** Arguments that are fixed in every call of the tool. The caller neither sees nor gives them. */
  fixed?(tool: GuardedTool): FixedArguments | undefined;
  /** Whether the call is admitted where the tool is another way to a record (see `actsAs`). */
  admits?(tool: GuardedTool, input: object): boolean;
  /** A sentence that says why calls of the tool reach fewer records than its rights allow. Undefined if they do not. */
  narrowed?(tool: GuardedTool): string | undefined;
}

export type FixedArguments = Readonly<Record<string, unknown>>;

/** The inputs of the tool that its caller neither sees nor gives. */
export function withheld({ boundTo = {} }: Pick<GuardedTool, 'boundTo'>, fixed: FixedArguments = {}): string[] {
  const bound = Object.keys(boundTo).filter((name) => Object.hasOwn(fixed, boundTo[name] ?? ''));
  return [...new Set([...Object.keys(fixed), ...bound])];
}

/** A limit that admits what both admit, for a limited principal that acts through something limited. */
export function intersectToolLimits(outer: ToolLimit | undefined, inner: ToolLimit): ToolLimit {
  if (!outer) return inner;
  return {
    holder: `${outer.holder} and ${inner.holder}`,
    fingerprint: JSON.stringify([outer.fingerprint, inner.fingerprint]),
    allows: (tool) => outer.allows(tool) && inner.allows(tool),
    deniedBy: (tool) => outer.deniedBy?.(tool) ?? inner.deniedBy?.(tool),
    fixed(tool) {
      const [first, second] = [outer.fixed?.(tool), inner.fixed?.(tool)];
      return first || second ? { ...second, ...first } : undefined;
    },
    admits: (tool, input) => (outer.admits?.(tool, input) ?? true) && (inner.admits?.(tool, input) ?? true),
    narrowed: (tool) => outer.narrowed?.(tool) ?? inner.narrowed?.(tool),
  };
}
