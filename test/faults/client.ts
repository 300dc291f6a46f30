import { setTimeout as delay } from 'node:timers/promises';
import { routes } from '../../facade/routes.ts';
import { legacy, modern, modernHeaders } from '../facade/mcp-requests.ts';
import { credential } from '../support/calls.ts';
import { send, type WireAnswer, type WireRequest } from '../support/http.ts';
import { pick, type Random } from './fault.ts';
import type { FaultedServer } from './server.ts';
import type { Violations } from './work.ts';

export type DoorName = 'REST' | 'MCP 2025' | 'MCP 2026' | 'capsule';

/** What a caller knows after a request. `unknown`: the effect is there as a whole, or not at all. `refused`: it is not there. */
export type Outcome =
  // biome-ignore lint/suspicious/noExplicitAny: works look into outputs freely
  | { readonly is: 'done'; readonly output: any; readonly requestId: string }
  | { readonly is: 'refused'; readonly code: string; readonly message: string }
  | { readonly is: 'unknown'; readonly code: string; readonly message: string };

export interface Caller {
  readonly key: string;
  /** Of the principal in the audit log. */
  readonly id: string;
  asked: number;
  answered: number;
}

export interface Acknowledged {
  readonly requestId: string;
  readonly tool: string;
  /** Of a call with a key: the answer may be that of an earlier request, whose own entry tells of the record. */
  readonly recordId: string | undefined;
}

export interface CapsuleCaller extends Caller {
  readonly capsuleId: string;
}

interface CallOptions {
  readonly door?: DoorName;
  readonly server?: FaultedServer;
  readonly idempotencyKey?: string | undefined;
}

/** A client has waited long enough then. */
const PATIENCE_MS = 15_000;
/** So long after the last fault a call may still be refused for what is under way. */
const LONGEST_CALM_MS = 60_000;
const AGAIN_MS = 50;
const LONGEST_LOOK_MS = 30_000;
const LOOK_AGAIN_MS = 200;
/** So much of what a process said explains a refusal that nothing explains. */
const SAID = 800;
const MAY_HAVE = /may have (been made|taken effect)/;
const STREAM = 'text/event-stream';
const BOTH = `application/json, ${STREAM}`;

/** Calls tools at any door of any process, and says what a caller knows afterwards. */
export class Client {
  readonly #servers: readonly FaultedServer[];
  readonly #violations: Violations;
  readonly #random: Random;
  /** Since when nothing is wrong with the processes, by `performance.now()`. */
  readonly #calmSince: () => number;
  /** Acknowledged writes whose audit entry was not looked for yet. */
  readonly acknowledged: Acknowledged[] = [];
  capsule: CapsuleCaller | undefined;
  /** Nobody asks again from then on. */
  isClosed = false;

  constructor(servers: readonly FaultedServer[], violations: Violations, random: Random, calmSince: () => number) {
    this.#servers = servers;
    this.#violations = violations;
    this.#random = random;
    this.#calmSince = calmSince;
  }

  get anyServer(): FaultedServer {
    return pick(this.#random, this.#servers);
  }

  async call(caller: Caller, tool: string, input: object, options: CallOptions = {}): Promise<Outcome> {
    const { door = 'MCP 2025', server = this.anyServer, idempotencyKey } = options;
    const as = door === 'capsule' ? (this.capsule ?? caller) : caller;
    const path = door === 'capsule' ? `/api/capsules/${this.capsule?.capsuleId}/mcp` : '/api/v1/mcp';
    const { path: url, ...request } = door === 'REST' ? restRequest(tool, input) : mcpRequest(door, path, tool, input);
    const key: Record<string, string> = idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
    const headers = { ...credential(as.key), 'Content-Type': 'application/json', ...request.headers, ...key };
    as.asked += 1;
    const answer = await this.ask(server, url, { ...request, headers });
    if ('is' in answer) return answer;
    const outcome = withReason(outcomeOf(answer, door), () => (this.#isCalm ? server.said().slice(-SAID) : ''));
    if (outcome.is === 'done') as.answered += 1;
    if (outcome.is === 'done' && !/^(list|get|search)_/.test(tool))
      this.acknowledged.push({
        ...{ requestId: outcome.requestId, tool },
        recordId: idempotencyKey === undefined ? undefined : outcome.output.id,
      });
    const isInternal = outcome.is !== 'done' && (outcome.code === 'internal' || outcome.code === 'no answer');
    if (isInternal)
      this.#violations.found(
        `${tool} at ${door} of process ${server.at}: ${outcome.message} ${server.said().slice(-SAID)}`,
      );
    return outcome;
  }

  /** Reads for a comparison: what an overloaded machine refuses for now is asked again for a while. */
  async look(caller: Caller, tool: string, input: object): Promise<Outcome> {
    for (const end = performance.now() + LONGEST_LOOK_MS; ; await delay(LOOK_AGAIN_MS)) {
      const outcome = await this.call(caller, tool, input);
      if (outcome.is === 'done' || outcome.code !== 'unavailable' || performance.now() > end) return outcome;
    }
  }

  /** Asks until the call is answered, at one process after the other, with the same key. */
  async callSurely(caller: Caller, tool: string, input: object, key: string, door: DoorName): Promise<Outcome> {
    const begun = performance.now();
    for (;;) {
      const outcome = await this.call(caller, tool, input, { door, idempotencyKey: key });
      if (outcome.is === 'done') return outcome;
      const isAgain =
        ['unavailable', 'no connection', 'cut'].includes(outcome.code) || /still running/.test(outcome.message);
      if (!isAgain || this.isClosed) return outcome;
      if (performance.now() - Math.max(begun, this.#calmSince()) > LONGEST_CALM_MS) {
        this.#violations.found(`${tool} with the key ${key} is refused for ever: ${outcome.message}`);
        return outcome;
      }
      await delay(AGAIN_MS);
    }
  }

  get #isCalm(): boolean {
    return performance.now() >= this.#calmSince();
  }

  /** One request, and its answer or what is known without one. */
  async ask(server: FaultedServer, path: string, request: WireRequest): Promise<WireAnswer | Outcome> {
    const begun = performance.now();
    try {
      return await send(`${server.baseUrl}${path}`, {
        ...{ ...request, isOnce: true, signal: AbortSignal.timeout(PATIENCE_MS) },
      });
    } catch (error) {
      const { code = '', name, message } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED') return { is: 'refused', code: 'no connection', message };
      const isLate = name === 'TimeoutError' || name === 'AbortError';
      if (begun >= this.#calmSince())
        this.#violations.found(
          `${path} of process ${server.at}: ${isLate ? 'no answer' : `the answer was cut (${message})`}`,
        );
      return { is: 'unknown', code: 'cut', message: isLate ? 'no answer' : message };
    }
  }
}

function withReason(outcome: Outcome, said: () => string): Outcome {
  if (outcome.is === 'done' || outcome.code !== 'unavailable') return outcome;
  return { ...outcome, message: `${outcome.message} ${said()}` };
}

type Prepared = WireRequest & { readonly path: string };

function restRequest(tool: string, input: object): Prepared {
  const route = routes.find((each) => each.tool === tool);
  if (!route) throw new Error(`${tool} has no REST path.`);
  const rest: Record<string, unknown> = { ...input };
  const path = route.path.replace(/\{(\w+)\}/g, (_, name) => {
    const value = String(rest[name]);
    delete rest[name];
    return encodeURIComponent(value);
  });
  if (route.method !== 'GET') return { path, method: route.method, body: JSON.stringify(rest) };
  const query = new URLSearchParams(
    Object.entries(rest).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { path: `${path}?${query}`, method: 'GET' };
}

function mcpRequest(door: DoorName, path: string, tool: string, input: object): Prepared {
  const params = { name: tool, arguments: input };
  if (door === 'MCP 2026') {
    const headers = { Accept: BOTH, ...modernHeaders('tools/call', tool) };
    return { path, method: 'POST', headers, body: JSON.stringify(modern('tools/call', params, { progressToken: 1 })) };
  }
  const streamed = { ...params, _meta: { progressToken: 1 } };
  return { path, method: 'POST', headers: { Accept: BOTH }, body: JSON.stringify(legacy('tools/call', streamed)) };
}

function outcomeOf({ status, headers, text }: WireAnswer, door: DoorName): Outcome {
  const isStream = headers.get('content-type')?.startsWith(STREAM);
  const last = isStream
    ? text
        .split('\n')
        .findLast((line) => line.startsWith('data: '))
        ?.slice(6)
    : text;
  const body = last ? JSON.parse(last) : undefined;
  const requestId = headers.get('x-request-id') ?? '';
  if (door === 'REST' && status < 300) return { is: 'done', output: body, requestId };
  if (door !== 'REST' && body?.result && !body.result.isError)
    return { is: 'done', output: body.result.structuredContent, requestId };
  const error = body?.result?.isError ? JSON.parse(body.result.content[0].text) : (body?.error?.data ?? body);
  return failureOf(status, error ?? {}, last ?? '');
}

// biome-ignore lint/suspicious/noExplicitAny: an error as it came
function failureOf(status: number, error: any, text: string): Outcome {
  const message = `${status} ${text.slice(0, 300)}`;
  const code = error.code ?? (status === 503 ? 'unavailable' : 'no answer');
  const isUnknown = MAY_HAVE.test(text) || code === 'internal' || code === 'interrupted' || code === 'no answer';
  return { is: isUnknown ? 'unknown' : 'refused', code, message };
}
