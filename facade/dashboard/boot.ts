import type { Boot } from './boot-data.ts';

/** What the server wrote into the page. */
export const boot = JSON.parse(document.getElementById('boot')?.textContent ?? '{}') as Boot; // written by server/shell.ts

let leaves = false;
addEventListener('beforeunload', () => {
  leaves = true;
});

/** Where people sign in again; the server leads back to this page. Who is just signing out is on the way there already. */
export function toSignIn(): void {
  if (!leaves) location.reload();
}

/** The address at which keys and people find all their tools. */
export function unifiedEndpoint(): string {
  return `${location.origin}${boot.base}/api/v1/mcp`;
}
