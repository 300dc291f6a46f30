import type { AuditEntry } from '../resources/audit-entry.ts';
import { newId } from '../store/ids.ts';

const MOST_ADDRESSES = 10_000;
const OTHERS = 'other addresses';

/** Counts failed authentication per address and minute: one audit entry each, however many attempts there were. */
export class AuthFailures {
  readonly #append: (entry: AuditEntry) => void;
  readonly #counts = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(append: (entry: AuditEntry) => void) {
    this.#append = append;
    this.#timer = setInterval(() => this.flush(), 60_000).unref();
  }

  count(address: string): void {
    const known = this.#counts.has(address) || this.#counts.size < MOST_ADDRESSES;
    const key = known ? address : OTHERS;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  flush(): void {
    const at = new Date().toISOString();
    for (const [address, attempts] of this.#counts) {
      this.#append({
        id: newId('aud'),
        at,
        requestId: '',
        door: 'rest',
        principal: { type: 'anonymous', id: address, name: address },
        tool: 'authenticate',
        arguments: { attempts },
        outcome: 'denied',
        code: 'unauthenticated',
        durationMs: 0,
      });
    }
    this.#counts.clear();
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }
}
