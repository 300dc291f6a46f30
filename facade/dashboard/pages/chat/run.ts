import { useRef, useState } from 'preact/hooks';
import { act, call, invalidate } from '../../app.ts';

/** An answer on its way: what was said so far, and the steps of the agent. */
export type Running = Readonly<{ said: string; text: string; steps: readonly string[] }>;

type Sent = Readonly<{ message: string; threadId: string; agentId?: string | undefined }>;

export type Run = ReturnType<typeof useRun>;

const LONGEST_TITLE = 80;

/** Sends a message and listens to the answer. Stopping ends the answer; what was said so far is kept in the thread. */
export function useRun() {
  const [running, setRunning] = useState<Running>();
  const [error, setError] = useState<unknown>();
  const stopper = useRef<AbortController | undefined>(undefined);

  async function send({ message, threadId, agentId }: Sent): Promise<void> {
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
      const input = { message, threadId, ...(agentId && { agentId }) };
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
  const input = { title, source: 'chat', ...(agentId && { agentIds: [agentId] }) };
  return (await act<{ id: string }>('create_thread', input)).id;
}

/** What was said in a new chat, until the page of its thread sends it. */
const pending = new Map<string, Sent>();

export function leave(sent: Sent): void {
  pending.set(sent.threadId, sent);
}

export function take(threadId: string): Sent | undefined {
  const sent = pending.get(threadId);
  pending.delete(threadId);
  return sent;
}
