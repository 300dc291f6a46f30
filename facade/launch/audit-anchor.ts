import { type AuditHead, hashOfHead } from '../../store/audit-proof/head.ts';
import type { AuditProof } from '../../store/audit-proof-port.ts';
import { backoffMs } from '../../store/backoff.ts';
import { createFetch } from '../../tools/core/outbound/fetch.ts';

interface AnchorOptions {
  readonly url: string;
  readonly privateAddresses: boolean;
  onFailure(cause: unknown): void;
}

/** Heads that wait. Later ones vouch for those that are left out. */
const MOST_WAITING = 1000;
const ANSWER_MS = 10_000;
const MOST_BYTES = 64 * 1024;
const PAUSE = { firstMs: 1000, longestMs: 5 * 60_000 };

/** Sends each head that this process signs to a server of somebody else, in order, until it takes it. Nothing waits for that. */
export class AuditAnchor {
  readonly #options: AnchorOptions;
  readonly #publicKey: string;
  readonly #http: ReturnType<typeof createFetch>;
  readonly #stop: () => void;
  readonly #ending = new AbortController();
  #waiting: AuditHead[] = [];
  #sending: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(proof: AuditProof, options: AnchorOptions) {
    this.#options = options;
    this.#publicKey = proof.publicKey.text;
    this.#http = createFetch({ privateAddresses: options.privateAddresses, mostBytes: MOST_BYTES });
    this.#stop = proof.onHead((head) => {
      this.#waiting = [...this.#waiting, head].slice(-MOST_WAITING);
      if (!this.#timer) this.#send();
    });
  }

  async close(): Promise<void> {
    this.#stop();
    this.#ending.abort();
    clearTimeout(this.#timer);
    await this.#sending;
    this.#http.close();
  }

  #send(): void {
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  async #sendAll(): Promise<void> {
    for (let [head] = this.#waiting; head && !this.#ending.signal.aborted; [head] = this.#waiting) {
      try {
        await this.#post(head);
        this.#failures = 0;
        this.#waiting = this.#waiting.filter((other) => other !== head);
      } catch (cause) {
        if (this.#ending.signal.aborted) return;
        if (this.#failures === 0)
          this.#options.onFailure(
            new Error('a head of the audit log could not be anchored; it is tried again', { cause }),
          );
        this.#timer = setTimeout(() => this.#send(), backoffMs(this.#failures, PAUSE)).unref();
        this.#failures += 1;
        return;
      }
    }
  }

  async #post(head: AuditHead): Promise<void> {
    const body = JSON.stringify({ head, hash: hashOfHead(head), publicKey: this.#publicKey });
    const signal = AbortSignal.any([this.#ending.signal, AbortSignal.timeout(ANSWER_MS)]);
    const headers = { 'content-type': 'application/json' };
    const response = await this.#http.fetch(this.#options.url, { method: 'POST', headers, body, signal });
    await response.body?.cancel();
    if (!response.ok) throw new Error(`${new URL(this.#options.url).host} answered ${response.status}`);
  }
}
