/** A scope: coarse, or finer such as `agents:read`. Tools require finer ones or `admin`. */
export type Scope = string;

export const COARSE_SCOPES = ['read', 'write', 'admin'] as const;

/** The scopes that tools of integrations require. Keys can have them also while there are no such tools. */
export const GUEST_SCOPES = { reads: 'tools:read', writes: 'tools:write' } as const;
/** The grant that all tools of integrations require. */
export const GUEST_GRANT = 'tool:call';

export function scopesSatisfy(held: readonly Scope[], required: Scope): boolean {
  return held.some((scope) => satisfies(scope, required));
}

/** Whether the held scopes open all that the other one opens. No tool requires `read`, which `write` includes. */
export function scopesCover(held: readonly Scope[], scope: Scope): boolean {
  return scopesSatisfy(held, scope) || (scope === 'read' && held.includes('write'));
}

function satisfies(held: Scope, required: Scope): boolean {
  if (held === '*' || held === 'admin' || held === required) return true;
  if (held === 'write') return required.endsWith(':write') || required.endsWith(':read');
  return held === 'read' && required.endsWith(':read');
}
