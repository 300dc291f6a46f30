/** Coarse scopes; tools require finer ones such as `agents:read` or `admin`. */
export type Scope = string;

export const COARSE_SCOPES = ['read', 'write', 'admin'] as const;

/** What tools of other servers require; assignable also while there are none. */
export const GUEST_SCOPES = { reads: 'tools:read', writes: 'tools:write' } as const;

/** Whether any of the held scopes satisfies the required one (spec part 5, "Scope satisfaction rules"). */
export function scopesSatisfy(held: readonly Scope[], required: Scope): boolean {
  return held.some((scope) => satisfies(scope, required));
}

function satisfies(held: Scope, required: Scope): boolean {
  if (held === '*' || held === 'admin' || held === required) return true;
  if (held === 'write') return required.endsWith(':write') || required.endsWith(':read');
  return held === 'read' && required.endsWith(':read');
}
