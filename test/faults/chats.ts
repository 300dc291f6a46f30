import { credential } from '../support/calls.ts';
import type { ModelRequest, Reply } from '../support/model-server.ts';
import type { Caller, Client } from './client.ts';
import type { Random } from './fault.ts';
import type { Violations, Work } from './work.ts';

const TURNS = 5;
const MAKE = /^make (\S+)$/;
/** In a cluster, a dead process counts as running its turns for 10 s. */
const RUN_ENDS_MS = 40_000;

interface Turn {
  readonly threadId: string | undefined;
  readonly said: string;
  /** A document that the agent was asked to make. */
  readonly tag: string | undefined;
  readonly isAnswered: boolean;
}

/** What the model says: it echoes, and makes a document where it is asked to. */
export function modelOfChats({ messages }: ModelRequest): Reply {
  const said = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const tag = MAKE.exec(said)?.[1];
  if (tag && messages.at(-1)?.role === 'user')
    return { calls: [{ name: 'create_document', arguments: { title: tag, content: 'made', tags: [tag] } }] };
  return { text: `You said: ${said}` };
}

/** One caller who talks to an agent, in JSON and in streams. Each turn is stored once; what the agent did, it did once. */
export class Chats implements Work {
  readonly name = 'chats';
  readonly everyMs = 500;
  readonly #client: Client;
  readonly #caller: Caller;
  readonly #violations: Violations;
  readonly #random: Random;
  #threadId: string | undefined;
  #turns = 0;
  #made = 0;
  #unchecked: Turn[] = [];

  constructor(client: Client, caller: Caller, violations: Violations, random: Random) {
    this.#client = client;
    this.#caller = caller;
    this.#violations = violations;
    this.#random = random;
  }

  async step(): Promise<void> {
    this.#made += 1;
    const tag = this.#random() < 0.3 ? `chat${this.#made}` : undefined;
    const said = tag ? `make ${tag}` : `turn ${this.#made}`;
    const answer = await this.#say(said);
    const threadId = answer?.threadId ?? this.#threadId;
    this.#unchecked.push({ threadId, said, tag, isAnswered: answer !== undefined });
    const wanted = `You said: ${said}`;
    if (answer)
      this.#violations.expect(
        answer.message.content === wanted,
        () => `${said} was answered: ${JSON.stringify(answer)}`,
      );
    this.#turns += 1;
    this.#threadId = answer && this.#turns % TURNS > 0 ? threadId : undefined;
  }

  async check(isLast: boolean): Promise<void> {
    const turns = this.#unchecked;
    this.#unchecked = [];
    for (const turn of turns) await this.#compare(turn);
    if (isLast) await this.#ended();
  }

  /** Undefined where the caller cannot know what became of it. */
  // biome-ignore lint/suspicious/noExplicitAny: an answer as it came
  async #say(message: string): Promise<any> {
    const isStream = this.#random() < 0.5;
    const body = { agentId: 'ada', message, ...(this.#threadId && { threadId: this.#threadId }) };
    const accept: Record<string, string> = isStream ? { Accept: 'text/event-stream' } : {};
    const headers = { ...credential(this.#caller.key), 'Content-Type': 'application/json', ...accept };
    this.#caller.asked += 1;
    const answer = await this.#client.ask(this.#client.anyServer, '/api/v1/chat', {
      ...{ method: 'POST', headers, body: JSON.stringify(body) },
    });
    if ('is' in answer) return undefined;
    const { status, text } = answer;
    if (status !== 200) {
      this.#violations.expect(/^(409|503)$/.test(String(status)), () => `a chat was answered ${status} ${text}`);
      return undefined;
    }
    if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text);
    const [event, data] = text.trimEnd().split('\n\n').at(-1)?.split('\n') ?? [];
    const isEnd = event === 'event: final' || event === 'event: error';
    this.#violations.expect(isEnd, () => `the stream of a chat ended without its end: ${text.slice(-500)}`);
    return event === 'event: final' ? JSON.parse(data?.slice('data: '.length) ?? '') : undefined;
  }

  async #compare({ threadId, said, tag, isAnswered }: Turn): Promise<void> {
    if (threadId !== undefined) {
      const list = await this.#client.look(this.#caller, 'list_messages', {
        id: threadId,
        order: 'oldest',
        limit: 100,
      });
      if (list.is !== 'done') return this.#violations.found(`a thread was not read: ${list.message}`);
      const told: string[] = list.output.data.map((each: { content: string }) => each.content);
      for (const text of [said, `You said: ${said}`]) {
        const count = told.filter((each) => each === text).length;
        const isRight = isAnswered ? count === 1 : count <= 1;
        this.#violations.expect(
          isRight,
          () => `"${text}" is in its thread ${count} times, ${isAnswered ? '' : 'not '}answered`,
        );
      }
    }
    if (tag === undefined) return;
    const count = await documentsTagged(this.#client, this.#caller, tag);
    const isRight = isAnswered ? count === 1 : count <= 1;
    this.#violations.expect(isRight, () => `the agent made ${tag} ${count} times, ${isAnswered ? '' : 'not '}answered`);
  }

  /** No run is left that nobody runs. */
  async #ended(): Promise<void> {
    const deadline = performance.now() + RUN_ENDS_MS;
    for (;;) {
      const list = await this.#client.look(this.#caller, 'list_agent_runs', { status: 'running', limit: 100 });
      if (list.is === 'done' && list.output.data.length === 0) return;
      if (performance.now() > deadline)
        return this.#violations.found(`runs of the agent go on: ${JSON.stringify(list)}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** How many documents have the tag; -1 where they could not be listed. */
export async function documentsTagged(client: Client, caller: Caller, tag: string): Promise<number> {
  const list = await client.look(caller, 'list_documents', { tag, limit: 10 });
  return list.is === 'done' ? list.output.data.length : -1;
}
