import type { Sent } from './run.ts';

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
