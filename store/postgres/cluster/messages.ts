/** The channel of messages between processes. */
export const TOLD = 'agent_admin_told';
/** The database takes less than 8,000 bytes. What is longer is not sent. */
const LONGEST_BYTES = 7000;

interface Message {
  readonly from: string;
  readonly topic: string;
  readonly message: unknown;
}

/** Short messages between processes, over the connections by which they hear of changes. */
export class Messages {
  readonly #process: string;
  readonly #send: (text: string) => void;
  readonly #listeners = new Map<string, Set<(message: unknown) => void>>();

  constructor(process: string, send: (text: string) => void) {
    this.#process = process;
    this.#send = send;
  }

  tell(topic: string, message: unknown): void {
    const text = JSON.stringify({ from: this.#process, topic, message } satisfies Message);
    if (Buffer.byteLength(text) <= LONGEST_BYTES) this.#send(text);
  }

  onTold(topic: string, listener: (message: unknown) => void): () => void {
    const listeners = this.#listeners.get(topic) ?? new Set();
    this.#listeners.set(topic, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  heard(text: string): void {
    const { from, topic, message } = JSON.parse(text) as Message; // sent by `tell`
    if (from === this.#process) return;
    for (const listener of this.#listeners.get(topic) ?? []) listener(message);
  }
}
