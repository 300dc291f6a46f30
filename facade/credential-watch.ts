import type { Exchange } from './exchange.ts';

/** How often a credential is looked at again while its call or stream goes on. */
const RECHECK_MS = 1000;

/** Tells when the credential of the exchange stops being valid, or cannot be looked at. Returns what ends the watch. */
export function watchCredential(exchange: Exchange, onError: (cause: unknown) => void, onInvalid: () => void) {
  const watch = setInterval(async () => {
    const valid = await exchange.stillValid().catch(onError);
    if (!valid) onInvalid();
  }, RECHECK_MS);
  return () => clearInterval(watch);
}
