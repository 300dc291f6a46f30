import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onLoopback } from './loopback.ts';

/** What the server does on one request. */
export type EmbeddingReply =
  | { readonly status: number; readonly headers?: Record<string, string> }
  | { readonly vectors: readonly (readonly number[])[] }
  | 'hang';

interface EmbeddingRequest {
  readonly model: string;
  readonly input: readonly string[];
}

/** An OpenAI-compatible server of an embedding model on loopback. */
export interface EmbeddingServer {
  readonly baseUrl: string;
  readonly requests: readonly EmbeddingRequest[];
  /** All texts that it answered a vector for. */
  readonly embedded: readonly string[];
  /** The header of the last request. */
  readonly authorization: () => string | undefined;
  /** What it does from now on. Undefined: it answers. */
  play(part: ((request: EmbeddingRequest, count: number) => EmbeddingReply | undefined) | undefined): void;
  close(): Promise<void>;
}

type Embed = (text: string) => readonly number[] | Promise<readonly number[]>;

export async function startEmbeddingServer(embed: Embed = byConcepts): Promise<EmbeddingServer> {
  const requests: EmbeddingRequest[] = [];
  const embedded: string[] = [];
  let authorization: string | undefined;
  let part: ((request: EmbeddingRequest, count: number) => EmbeddingReply | undefined) | undefined;
  const server = createServer(async (request, response) => {
    if (request.method === 'GET')
      return void send(response, 200, { object: 'list', data: [{ id: 'tiny', object: 'model' }] });
    let text = '';
    for await (const chunk of request) text += chunk;
    const asked: EmbeddingRequest = JSON.parse(text);
    requests.push(asked);
    authorization = request.headers.authorization;
    const reply = part?.(asked, requests.length);
    if (reply === 'hang') return void (await sleep(60_000, undefined, { ref: false }));
    if (reply && 'status' in reply)
      return void send(response, reply.status, { error: { message: 'no' } }, reply.headers);
    const vectors = reply ? reply.vectors : await inOrder(asked.input, embed);
    if (!reply) embedded.push(...asked.input);
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
    const tokens = asked.input.reduce((sum, each) => sum + Math.ceil(each.length / 4), 0);
    send(response, 200, {
      object: 'list',
      model: asked.model,
      data,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    });
  });
  const { url, close } = await onLoopback(server);
  return {
    baseUrl: `${url}/v1`,
    requests,
    embedded,
    authorization: () => authorization,
    play(next) {
      part = next;
    },
    close,
  };
}

/** What a server needs in its environment to use it. */
export function embeddingEnv({ baseUrl }: EmbeddingServer, model = 'tiny'): Record<string, string> {
  return { MODEL_BASE_URL: baseUrl, EMBEDDING_MODEL: `custom/${model}` };
}

async function inOrder(texts: readonly string[], embed: Embed): Promise<(readonly number[])[]> {
  const all: (readonly number[])[] = [];
  for (const text of texts) all.push(await embed(text));
  return all;
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Words that mean the same, to this model. */
const CONCEPTS = [
  ['receipts', 'bills', 'invoices'],
  ['dog', 'pet', 'puppy', 'hound'],
  ['refund', 'reimbursement', 'repayment'],
  ['holiday', 'vacation', 'leave'],
  ['password', 'passphrase', 'credentials'],
];
const NUMBERS = 256;

/** Each word, or what it means, is a direction. */
export function byConcepts(text: string): number[] {
  const numbers = new Array<number>(NUMBERS).fill(0);
  for (const word of text.toLowerCase().match(/\p{L}+|\d+/gu) ?? []) {
    if (word.length < 4 && !/^(dog|pet|\d+)$/.test(word)) continue;
    const meant = CONCEPTS.find((words) => words.includes(word))?.[0] ?? word;
    let state = 7;
    for (const letter of meant) state = (state * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
    for (let at = 0; at < NUMBERS; at += 1) {
      state = (state * 48_271) % 2_147_483_647;
      numbers[at] = (numbers[at] ?? 0) + (state / 2_147_483_647 - 0.5);
    }
  }
  return numbers;
}
