import type { AuditEntry } from '../../resources/audit-entry.ts';
import type { ErrorCode } from '../../resources/error.ts';
import { withoutCredentials } from '../../tools/core/access/key-secret.ts';
import { anonymous } from '../../tools/core/access/principal.ts';
import { auditEntryOf, startCall } from '../../tools/core/history/audit-entry.ts';
import type { RequestContext } from './request-context.ts';

const MOST_COUNTED = 10_000;
const LONGEST_ID = 100;
const AUTHENTICATE = 'authenticate';
const OTHERS = 'other addresses';

interface Refused {
  readonly address: string;
  readonly code: ErrorCode;
  attempts: number;
}

/** Counts refusals of unknown callers per address, code and minute. Each count becomes one audit entry of `authenticate`. */
export class RefusedRequests {
  readonly #append: (entry: AuditEntry) => void;
  readonly #counts = new Map<string, Refused>();
  readonly #timer: NodeJS.Timeout;

  constructor(append: (entry: AuditEntry) => void) {
    this.#append = append;
    this.#timer = setInterval(() => this.flush(), 60_000).unref();
  }

  count(address: string, code: ErrorCode): void {
    const known = this.#counts.has(`${code} ${address}`) || this.#counts.size < MOST_COUNTED;
    const from = known ? address : OTHERS;
    const found = this.#counts.get(`${code} ${from}`) ?? { address: from, code, attempts: 0 };
    found.attempts += 1;
    this.#counts.set(`${code} ${from}`, found);
  }

  /** Adds an entry for a known caller at an endpoint that is not for it. `capsuleId`: the capsule of that endpoint. */
  note(
    { principal, door, requestId }: Pick<RequestContext, 'principal' | 'door' | 'requestId'>,
    capsuleId?: string,
  ): void {
    const [asked, input] =
      capsuleId === undefined
        ? [door, {}]
        : (['capsule', { capsuleId: withoutCredentials(capsuleId).slice(0, LONGEST_ID) }] as const);
    this.#add({ requestId, door: asked, principal, arguments: input, code: 'forbidden' });
  }

  flush(): void {
    for (const { address, code, attempts } of this.#counts.values()) {
      this.#add({ requestId: '', door: 'rest', principal: anonymous(address), arguments: { attempts }, code });
    }
    this.#counts.clear();
  }

  #add(refused: Omit<Parameters<typeof auditEntryOf>[0], 'begun' | 'tool'>): void {
    this.#append(auditEntryOf({ begun: startCall(new Date()), tool: AUTHENTICATE, ...refused }));
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }
}
