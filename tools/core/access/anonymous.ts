import type { Principal } from './principal.ts';
import { scopeRights } from './rights.ts';
import type { ToolLimit } from './tool-limit.ts';

const RIGHTS = scopeRights([]);
const SIGNING_IN: ToolLimit = {
  holder: 'callers who are not signed in',
  fingerprint: 'signing in',
  allows: ({ session }) => session === 'begins',
};

/** A caller that is not authenticated. It can call only the tool that signs in. */
export function anonymous(address: string): Principal {
  return { type: 'anonymous', id: address, name: address, scopes: [], ownerId: '', rights: RIGHTS, tools: SIGNING_IN };
}
