import type { Boot } from './boot-data.ts';

/** What the server wrote into the page. */
export const boot = JSON.parse(document.getElementById('boot')?.textContent ?? '{}') as Boot; // written by server/shell.ts

/** Where people sign in again; the server leads back to this page. */
export function toSignIn(): void {
  location.reload();
}
