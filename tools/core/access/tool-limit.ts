import type { GuardedTool } from './guarded-tool.ts';

/** A limit to some tools, besides the principal's rights. A call must be allowed by both. */
export interface ToolLimit {
  /** What sets the limit, in the words of refusals, for example `the capsule "Support"`. */
  readonly holder: string;
  /** Equal for limits that admit the same calls. */
  readonly fingerprint: string;
  allows(tool: GuardedTool): boolean;
  /** Arguments that are fixed in every call of the tool. The caller neither sees nor gives them. */
  fixed?(tool: GuardedTool): FixedArguments | undefined;
  /** Whether the call is admitted where the tool is another way to a record (see `actsAs`). */
  admits?(tool: GuardedTool, input: object): boolean;
  /** A sentence that says why calls of the tool reach fewer records than its rights allow. Undefined if they do not. */
  narrowed?(tool: GuardedTool): string | undefined;
}

export type FixedArguments = Readonly<Record<string, unknown>>;

/** A limit that admits what both admit, for a limited principal that acts through something limited. */
export function intersectToolLimits(outer: ToolLimit | undefined, inner: ToolLimit): ToolLimit {
  if (!outer) return inner;
  return {
    holder: `${outer.holder} and ${inner.holder}`,
    fingerprint: JSON.stringify([outer.fingerprint, inner.fingerprint]),
    allows: (tool) => outer.allows(tool) && inner.allows(tool),
    fixed(tool) {
      const [first, second] = [outer.fixed?.(tool), inner.fixed?.(tool)];
      return first || second ? { ...second, ...first } : undefined;
    },
    admits: (tool, input) => (outer.admits?.(tool, input) ?? true) && (inner.admits?.(tool, input) ?? true),
    narrowed: (tool) => outer.narrowed?.(tool) ?? inner.narrowed?.(tool),
  };
}
