import type { Principal } from '../tools/access/principal.ts';
import type { Exchange } from './exchange.ts';

/** How often a credential is looked at again while its call or stream goes on. */
const RECHECK_MS = 1000;

/** Tells when the credential of the exchange stops being valid, or cannot be looked at. Returns what ends the watch. */
export function watchCredential(
  exchange: Exchange,
  onError: (cause: unknown) => void,
  onInvalid: () => void,
  onRenewed?: (principal: Principal) => void,
) {
  const watch = setInterval(() => void lookAgain(exchange, onError, onInvalid, onRenewed), RECHECK_MS);
  return () => clearInterval(watch);
}

/** The same once, at once. */
export async function lookAgain(
  exchange: Exchange,
  onError: (cause: unknown) => void,
  onInvalid: () => void,
  onRenewed?: (principal: Principal) => void,
): Promise<void> {
  const principal = await exchange.renewed().catch(onError);
  if (principal) onRenewed?.(principal);
  else onInvalid();
}
