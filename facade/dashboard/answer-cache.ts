import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { CallError, call, outputIn, type ToolResult } from './client.ts';
import { hearTabs, tellTabs } from './tabs.ts';

/** What is known of the answer to a reading call. An old answer stays while a new one is fetched. */
export type Answer<Output> = Readonly<{ data?: Output | undefined; error?: CallError | undefined; loading: boolean }>;

interface Entry {
  readonly tool: string;
  readonly input: object;
  answer: Answer<unknown>;
  at: number;
  stale: boolean;
  readonly listeners: Set<() => void>;
  /** Somebody looked at it before: what was asked for ahead is not asked for twice. */
  isSeen?: true;
}

const entries = new Map<string, Entry>();
const MOST_KEPT = 300;

function entryOf(tool: string, input: object): Entry {
  const key = `${tool} ${JSON.stringify(input)}`;
  const known = entries.get(key);
  if (known) return known;
  const made: Entry = { tool, input, answer: { loading: false }, at: 0, stale: true, listeners: new Set() };
  entries.set(key, made);
  if (entries.size > MOST_KEPT) forgetOldest();
  return made;
}

function forgetOldest(): void {
  for (const [key, { listeners }] of entries) {
    if (entries.size <= MOST_KEPT) return;
    if (listeners.size === 0) entries.delete(key);
  }
}

/** Begins the call if its answer is not there or not good any more. */
function prefetch(tool: string, input: object = {}): void {
  const entry = entryOf(tool, input);
  if (entry.stale && !entry.answer.loading) void load(entry);
}

/** Keeps an answer that came without being asked for. */
export function keepAnswer(tool: string, input: object, data: unknown): void {
  const entry = entryOf(tool, input);
  entry.stale = false;
  entry.at = Date.now();
  tell(entry, { data, loading: false });
}

async function load(entry: Entry, begun?: Promise<unknown>): Promise<void> {
  entry.stale = false;
  tell(entry, { ...entry.answer, loading: true });
  try {
    tell(entry, { data: await (begun ?? call(entry.tool, entry.input)), loading: false });
  } catch (error) {
    const failed =
      error instanceof CallError ? error : new CallError(entry.tool, { error: String(error), code: 'failed' });
    tell(entry, { data: entry.answer.data, error: failed, loading: false });
  }
  entry.at = Date.now();
  if (entry.stale && entry.listeners.size > 0) void load(entry); // it changed meanwhile
}

/** Keeps the answers to the calls that were made before this script was there. Resolves when all are there. */
export async function adoptPrefetched(): Promise<void> {
  const begun = (globalThis.begunCalls ?? []).map(({ tool, input, result }) =>
    load(
      entryOf(tool, input),
      result.then((answer) => outputIn(tool, answer as ToolResult)), // begin.ts called the tool
    ),
  );
  await Promise.all(begun);
}

function tell(entry: Entry, answer: Answer<unknown>): void {
  entry.answer = answer;
  for (const listener of entry.listeners) listener();
}

/** How long an answer is good that nobody looks at. */
const UNSEEN_MS = 1000;

const NOTHING: Answer<never> = { loading: false };

/** The answer of a reading tool, kept and renewed when records change. Undefined as tool: nothing is asked. */
export function useAnswer<Output>(tool: string | undefined, input: object = {}): Answer<Output> {
  const [, draw] = useState({});
  const key = `${tool} ${JSON.stringify(input)}`;
  // Listens before anything else can happen, so that no answer is missed.
  useLayoutEffect(() => {
    if (tool === undefined) return undefined;
    const entry = entryOf(tool, input);
    const listener = () => draw({});
    // What others changed while nobody looked is not known.
    if (entry.isSeen && entry.listeners.size === 0 && Date.now() - entry.at > UNSEEN_MS) entry.stale = true;
    entry.isSeen = true;
    entry.listeners.add(listener);
    const shown = entry.answer;
    prefetch(tool, input);
    if (entry.answer !== shown) draw({});
    return () => {
      entry.listeners.delete(listener);
    };
  }, [key]);
  if (tool === undefined) return NOTHING;
  const { answer, stale } = entryOf(tool, input);
  const shown = stale && answer.data === undefined && !answer.error ? { ...answer, loading: true } : answer;
  return shown as Answer<Output>; // whoever asks knows what the tool answers
}

type Test = (tool: string, input: object) => boolean;

/** Answers that may have changed are fetched again: at once where they are shown, later where they are not. */
export function invalidate(test: Test = () => true): void {
  for (const entry of entries.values()) {
    if (!test(entry.tool, entry.input)) continue;
    entry.stale = true;
    if (entry.listeners.size > 0 && !entry.answer.loading) void load(entry);
  }
}

/** Renews what was asked longer ago than this, for example when somebody comes back to the page. */
export function invalidateOlderThan(ms: number): void {
  const limit = Date.now() - ms;
  for (const entry of entries.values()) {
    if (entry.at > limit) continue;
    entry.stale = true;
    if (entry.listeners.size > 0 && !entry.answer.loading) void load(entry);
  }
}

hearTabs(() => invalidate());

/** Calls a tool that changes something. Everything shown, in all tabs, is renewed. @throws CallError */
export async function act<Output = Readonly<Record<string, unknown>>>(
  tool: string,
  input: object = {},
): Promise<Output> {
  try {
    return await call<Output>(tool, input);
  } finally {
    renew(tool);
  }
}

/** Renews everything shown, in all tabs, after calls of a tool that changes something. */
export function renew(tool: string): void {
  invalidate();
  tellTabs(tool);
}

const TYPING_MS = 200;

/** What is typed, once it has not changed for a moment, so that not every letter is a call. Nothing typed is known at once. */
export function useDebounced(typed: string): string {
  const [settled, settle] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return typed === '' ? typed : settled;
}
