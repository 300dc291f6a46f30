/** A step of a flow, as the schema of a flow says. */
export interface Step {
  readonly id: string;
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly when?: string;
  readonly onError?: string;
  readonly retry?: { readonly attempts: number; readonly delayMs: number };
}

export function stepsOf(value: unknown): readonly Step[] {
  return Array.isArray(value) ? value : [];
}
