import { MOST_KEPT } from '../../tools/flows/run-queue.ts';
import { github } from '../support/webhook-senders.ts';
import { documentsTagged } from './chats.ts';
import type { Caller, Client } from './client.ts';
import type { Random } from './fault.ts';
import type { Violations, Work } from './work.ts';

/** A run goes on elsewhere 10 s after its process died, and waits for a store that is away. */
const RUN_ENDS_MS = 45_000;

export interface FlowIds {
  /** By a signed delivery; makes a document tagged with `input.tag`. */
  readonly webhook: string;
  /** By hand; the same. */
  readonly manual: string;
  /** By each new document tagged `event`. */
  readonly event: string;
  /** Each minute. */
  readonly schedule: string;
}

interface Begun {
  readonly tag: string;
  readonly runId: string | undefined;
  readonly at: number;
}

/** One caller who starts flows by signed deliveries and by hand, until it is answered. Each run is made once. */
export class Flows implements Work {
  readonly name = 'flows';
  readonly everyMs = 500;
  readonly #client: Client;
  readonly #caller: Caller;
  readonly #violations: Violations;
  readonly #random: Random;
  readonly #ids: FlowIds;
  #unchecked: Begun[] = [];
  #made = 0;

  constructor(ids: FlowIds, client: Client, caller: Caller, violations: Violations, random: Random) {
    this.#ids = ids;
    this.#client = client;
    this.#caller = caller;
    this.#violations = violations;
    this.#random = random;
  }

  async step(): Promise<void> {
    this.#made += 1;
    const tag = `run${this.#made}`;
    const runId = this.#random() < 0.5 ? await this.#deliver(tag) : await this.#trigger(tag);
    this.#unchecked.push({ tag, runId, at: performance.now() });
  }

  async check(isLast: boolean): Promise<void> {
    const due = this.#unchecked.filter(({ at }) => isLast || performance.now() - at > RUN_ENDS_MS);
    this.#unchecked = this.#unchecked.filter((begun) => !due.includes(begun));
    for (const begun of due) await this.#compare(begun);
    if (isLast) await this.#compareTimes();
  }

  async #trigger(tag: string): Promise<string | undefined> {
    const input = { id: this.#ids.manual, input: { tag } };
    const outcome = await this.#client.callSurely(this.#caller, 'trigger_flow', input, `trigger ${tag}`, 'MCP 2025');
    if (outcome.is === 'done') return outcome.output.id;
    if (!this.#client.isClosed) this.#violations.found(`a flow was not started: ${outcome.message}`);
    return undefined;
  }

  /** A sender sends until it is answered with 2xx. */
  async #deliver(tag: string): Promise<string | undefined> {
    const { headers, body } = github.sign(JSON.stringify({ tag }), 0);
    const delivery = { method: 'POST', headers: { ...headers, 'x-github-delivery': tag }, body };
    while (!this.#client.isClosed) {
      const answer = await this.#client.ask(
        this.#client.anyServer,
        `/api/v1/agents/flows/${this.#ids.webhook}/trigger`,
        delivery,
      );
      if (!('is' in answer) && answer.status < 300) return JSON.parse(answer.text).runId;
      if (!('is' in answer) && answer.status !== 503)
        this.#violations.found(`a delivery was answered ${answer.status} ${answer.text}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return undefined;
  }

  async #compare({ tag, runId }: Begun): Promise<void> {
    const deadline = performance.now() + RUN_ENDS_MS;
    for (;;) {
      const run =
        runId === undefined ? undefined : await this.#client.call(this.#caller, 'get_flow_run', { id: runId });
      const status = run?.is === 'done' ? run.output.status : undefined;
      const count = await documentsTagged(this.#client, this.#caller, tag);
      if (count > 1) return this.#violations.found(`the run ${runId} made ${tag} ${count} times`);
      if (status === 'failed')
        return this.#violations.found(`the run ${runId} of ${tag} failed: ${JSON.stringify(run)}`);
      // Of a flow so many runs are kept, and a clock that goes back makes one the oldest.
      const isDropped = this.#made > MOST_KEPT && run?.is === 'refused' && run.code === 'not_found';
      if (count === 1 && (status === 'succeeded' || isDropped || runId === undefined)) return;
      if (performance.now() > deadline)
        return this.#violations.found(`the run ${runId} of ${tag} is ${JSON.stringify(run)}, ${count} documents`);
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }

  /** No schedule fired twice for one time, no event began two runs. */
  async #compareTimes(): Promise<void> {
    for (const id of [this.#ids.schedule, this.#ids.event]) {
      const begun: string[] = [];
      for (let cursor: unknown; cursor !== null; ) {
        const input = { id, limit: 100, ...(cursor !== undefined && { cursor }) };
        const list = await this.#client.look(this.#caller, 'list_flow_runs', input);
        if (list.is !== 'done') return this.#violations.found(`runs were not listed: ${list.message}`);
        begun.push(
          ...list.output.data.map((run: { trigger: { at?: string; id?: string } }) => run.trigger.at ?? run.trigger.id),
        );
        cursor = list.output.nextCursor;
      }
      const twice = begun.filter((at, index) => begun.indexOf(at) !== index);
      this.#violations.expect(twice.length === 0, () => `began two runs: ${twice.join(', ')}`);
    }
  }
}
