import type { Tool } from '../registry/define-tool.ts';

/** The tools a principal is held to besides its rights: of the two the narrower wins. */
export interface ToolLimit {
  /** Whose limit it is, as refusals name it, for example `the capsule "Support"`. */
  readonly holder: string;
  /** Equal for limits that let the same calls through. */
  readonly fingerprint: string;
  allows(tool: Tool): boolean;
  /** Arguments fixed in every call of the tool, which the caller neither sees nor gives. */
  fixed?(tool: Tool): FixedArguments | undefined;
  /** Whether the call is let through where the tool is another way to a record (see `actsAs`). */
  admits?(tool: Tool, input: object): boolean;
  /** Why calls of the tool reach fewer records than the rights of the tool would, in a sentence; undefined where they do not. */
  narrowed?(tool: Tool): string | undefined;
}

export type FixedArguments = Readonly<Record<string, unknown>>;

/** Both limits at once, for a limited principal that acts through something limited itself. */
export function bothLimits(outer: ToolLimit | undefined, inner: ToolLimit): ToolLimit {
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
