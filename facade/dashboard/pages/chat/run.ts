import { useRef, useState } from 'preact/hooks';
import { act, CallError, call, invalidate } from '../../app.ts';
import { sendFiles } from './send-files.ts';

/** What somebody wrote, with the files that go with it. */
export type Said = Readonly<{ message: string; files: readonly File[] }>;

/** An answer on its way. `share`: how much of the files was sent, 0 to 1. `text`: the answer so far. `steps`: what the agent did for it. */
export type Running = Said & Readonly<{ share: number; text: string; steps: readonly string[] }>;

/** A message that the server did not take because of its files, with what is wrong with them by their places. */
export type Returned = Said & Readonly<{ errors: ReadonlyMap<number, string> }>;

type Sent = Said & Readonly<{ threadId: string; agentId?: string | undefined }>;

export type Run = ReturnType<typeof useRun>;

const LONGEST_TITLE = 80;

/** Sends a message and listens to the answer. Stopping ends the answer; what was said so far is kept in the thread. */
export function useRun() {
  const [running, setRunning] = useState<Running>();
  const [error, setError] = useState<unknown>();
  const [returned, setReturned] = useState<Returned>();
  const stopper = useRef<AbortController | undefined>(undefined);

  async function send(sent: Sent): Promise<void> {
    setError(undefined);
    const stop = new AbortController();
    stopper.current = stop;
    let now: Running = { ...sent, share: 0, text: '', steps: [] };
    const tell = (next: Partial<Running>) => {
      now = { ...now, ...next };
      setRunning(now);
    };
    tell({});
    try {
      await (sent.files.length > 0 ? sendForm : sendText)(sent, stop.signal, tell, () => now);
    } catch (problem) {
      const errors = errorsOf(problem);
      if (!stop.signal.aborted && errors.size > 0) setReturned({ ...sent, errors });
      else if (!stop.signal.aborted) setError(problem);
    }
    invalidate();
    setRunning(undefined);
  }

  return { running, error, returned, send, stop: () => stopper.current?.abort() };
}

type Tell = (next: Partial<Running>) => void;

async function sendText({ message, threadId, agentId }: Sent, signal: AbortSignal, tell: Tell, now: () => Running) {
  const input = { message, threadId, ...(agentId && { agentId }) };
  // Pieces of the answer are debug lines, the steps on the way are information.
  const onMessage = ({ level, data }: { readonly level: string; readonly data: string }) =>
    tell(level === 'debug' ? { text: now().text + data } : { steps: [...now().steps, data], text: '' });
  await call('send_chat_message', input, { signal, onMessage });
}

async function sendForm(sent: Sent, signal: AbortSignal, tell: Tell, now: () => Running) {
  const { message, threadId, agentId, files } = sent;
  const fields = { message: message.trim() === '' ? undefined : message, threadId, agentId, stream: 'true' };
  await sendFiles(fields, files, {
    signal,
    onShare: (share) => tell({ share }),
    onEvent(name, data) {
      if (name === 'delta') tell({ text: now().text + String(data.text) });
      const step = STEPS[name]?.(data);
      if (step !== undefined) tell({ steps: [...now().steps, step], text: '', share: 1 });
    },
  });
}

/** The steps on the way in the words of those that come over MCP. */
const STEPS: Readonly<Record<string, (data: Readonly<Record<string, unknown>>) => string>> = {
  run: ({ model }) => `Running on ${model}`,
  tool_call: ({ tool }) => `Calling ${tool}`,
  tool_result: ({ tool, ok }) => `${tool} ${ok ? 'answered' : 'failed'}`,
  restarted: () => 'The answer broke off and begins again',
  fallback: ({ model, reason }) => `${model} did not answer (${reason}); another model is asked`,
};

function errorsOf(problem: unknown): ReadonlyMap<number, string> {
  const issues = problem instanceof CallError ? problem.issues : [];
  return new Map(
    issues.flatMap(({ path, message }) => {
      const [, at] = /^attachments\[(\d+)\]/.exec(path) ?? [];
      return at === undefined ? [] : [[Number(at), message] as const];
    }),
  );
}

/** Makes the thread of a new chat, so that an answer that is stopped has its place. */
export async function beginThread({ message, files }: Said, agentId: string | undefined): Promise<string> {
  const line = message.trim().split('\n')[0] || files[0]?.name || '';
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
