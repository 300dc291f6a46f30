import { useRef, useState } from 'preact/hooks';
import { act, call, invalidate } from '../../app.ts';

/** An answer on its way: what was said so far, and the steps of the agent. */
export type Running = Readonly<{ said: string; text: string; steps: readonly string[] }>;

export interface Sent {
  readonly message: string;
  readonly threadId: string;
  readonly agentId?: string | undefined;
  readonly model?: string | undefined;
}

export interface Run {
  readonly running: Running | undefined;
  readonly error: unknown;
  /** Sends a message and listens to the answer. */
  send(sent: Sent): Promise<void>;
  /** Ends the answer; what was said so far is kept in the thread. */
  stop(): void;
}

const LONGEST_TITLE = 80;

export function useRun(): Run {
  const [running, setRunning] = useState<Running>();
  const [error, setError] = useState<unknown>();
  const stopper = useRef<AbortController | undefined>(undefined);

  async function send({ message, threadId, agentId, model }: Sent): Promise<void> {
    setError(undefined);
    const stop = new AbortController();
    stopper.current = stop;
    try {
      let now: Running = { said: message, text: '', steps: [] };
      const tell = (next: Partial<Running>) => {
        now = { ...now, ...next };
        setRunning(now);
      };
      tell({});
      const input = { message, threadId, ...(agentId && { agentId }), ...(model && { model }) };
      // Pieces of the answer are debug lines, the steps on the way are information.
      const onMessage = ({ level, data }: { readonly level: string; readonly data: string }) =>
        tell(level === 'debug' ? { text: now.text + data } : { steps: [...now.steps, data], text: '' });
      await call('send_chat_message', input, { signal: stop.signal, onMessage });
    } catch (problem) {
      if (!stop.signal.aborted) setError(problem);
    }
    invalidate();
    setRunning(undefined);
  }

  return { running, error, send, stop: () => stopper.current?.abort() };
}

/** Makes the thread of a new chat, so that an answer that is stopped has its place. */
export async function beginThread(message: string, agentId: string | undefined): Promise<string> {
  const line = message.trim().split('\n')[0] ?? '';
  const title = line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE - 1)}…` : line;
  const made = await act<{ id: string }>('create_thread', {
    title,
    source: 'chat',
    ...(agentId && { agentIds: [agentId] }),
  });
  return made.id;
}

/** What was said in a new chat, until the page of its thread sends it. */
const pending = new Map<string, Sent>();

export function leave(threadId: string, sent: Sent): void {
  pending.set(threadId, sent);
}

export function take(threadId: string): Sent | undefined {
  const sent = pending.get(threadId);
  pending.delete(threadId);
  return sent;
}
