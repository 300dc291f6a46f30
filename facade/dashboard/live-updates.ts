import { useEffect } from 'preact/hooks';
import { backoffMs } from '../../store/backoff.ts';
import { invalidate, invalidateOlderThan } from './answer-cache.ts';
import { loadTools } from './tools.ts';
import { request } from './transport.ts';

/**
 * Changes that others make. One tab holds the stream for all, because browsers open six connections to a server and each stream takes one:
 * whoever holds the lock listens for what every tab follows, and hands on what it hears.
 */
type LiveMessage =
  | { readonly kind: 'follow'; readonly tab: string; readonly uris: readonly string[] }
  | { readonly kind: 'who' }
  | { readonly kind: 'changed'; readonly uri: string }
  | { readonly kind: 'followed'; readonly uris: readonly string[] }
  | { readonly kind: 'tools' };

const channel = new BroadcastChannel('admin-live');
const tab = crypto.randomUUID();
/** How often each URI is followed in this tab. */
const own = new Map<string, number>();
/** What other tabs follow; only the tab that listens needs it. */
const others = new Map<string, readonly string[]>();
let restart: (() => void) | undefined;

channel.onmessage = ({ data }: MessageEvent<LiveMessage>) => {
  if (data.kind === 'follow') {
    if (data.uris.length > 0) others.set(data.tab, data.uris);
    else others.delete(data.tab);
    restart?.();
  } else if (data.kind === 'who') sayFollowed();
  else hear(data);
};

function say(said: LiveMessage): void {
  channel.postMessage(said);
}

function sayFollowed(): void {
  say({ kind: 'follow', tab, uris: [...own.keys()] });
}

function hear(said: LiveMessage): void {
  if (said.kind === 'changed') renewSoon();
  else if (said.kind === 'followed') invalidate((tool) => said.uris.some((uri) => isOf(tool, uri)));
  else if (said.kind === 'tools') void loadTools();
}

/** Whether a tool reads records like that at the address: `list_agents` those at `agent://`. */
function isOf(tool: string, uri: string): boolean {
  const [kind = ''] = uri.split('://');
  return /^(list|get)_/.test(tool) && tool.includes(kind.replaceAll('-', '_').replace(/y$/, ''));
}

const LEAST_BETWEEN_MS = 1000;
let renewedAt = 0;
let renewing: ReturnType<typeof setTimeout> | undefined;

/** Renews at once, and when changes come one after the other, once a second. */
function renewSoon(): void {
  const wait = Math.max(0, renewedAt + LEAST_BETWEEN_MS - Date.now());
  if (renewing !== undefined) return;
  renewing = setTimeout(() => {
    renewing = undefined;
    renewedAt = Date.now();
    invalidate();
  }, wait);
}

/** Renews what the page shows when the records at these addresses (`agent://agt_...`) change. */
export function useLive(uris: readonly string[]): void {
  const key = uris.join(' ');
  useEffect(() => {
    const followed = key === '' ? [] : key.split(' ');
    for (const uri of followed) own.set(uri, (own.get(uri) ?? 0) + 1);
    changed();
    return () => {
      for (const uri of followed) {
        const left = (own.get(uri) ?? 1) - 1;
        if (left > 0) own.set(uri, left);
        else own.delete(uri);
      }
      changed();
    };
  }, [key]);
}

function changed(): void {
  sayFollowed();
  restart?.();
}

/** Debounced: one new stream for everything that a new page follows. */
const RESTART_DEBOUNCE_MS = 250;
const LONGEST_WAIT_MS = 30_000;
/** As many as the server takes. */
const MOST_FOLLOWED = 1000;

/** Listens in this tab as soon as no other one does. Called once. */
export function startLive(): void {
  addEventListener('pagehide', () => say({ kind: 'follow', tab, uris: [] }));
  addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') invalidateOlderThan(LONGEST_WAIT_MS);
  });
  void navigator.locks.request('admin-live', async () => {
    say({ kind: 'who' });
    for (;;) await listenUntilRestart();
  });
}

const FIRST_WAIT_MS = 1000;
/** How many streams came to an end one after the other before they had lasted. */
let endings = 0;
/** Whether nothing was heard between the stream before and this one. */
let wasAway = false;

/** What all tabs follow, each address once. */
function followed(): string[] {
  return [...new Set([...own.keys(), ...[...others.values()].flat()])].sort().slice(0, MOST_FOLLOWED);
}

async function listenUntilRestart(): Promise<void> {
  const stop = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const uris = followed();
  restart = () => {
    clearTimeout(timer);
    timer = setTimeout(() => followed().join() !== uris.join() && stop.abort(), RESTART_DEBOUNCE_MS);
  };
  const since = Date.now();
  try {
    const notifications = { toolsListChanged: true, resourceSubscriptions: uris };
    await request(
      'subscriptions/listen',
      { notifications },
      { signal: stop.signal, onNotification: (said) => handOn(said, uris) },
    );
  } catch {
    // Whether it failed or was ended by the server, it is asked for again below.
  }
  if (stop.signal.aborted) return;
  if (Date.now() - since > LONGEST_WAIT_MS) endings = 0;
  const longest = backoffMs(endings, { firstMs: FIRST_WAIT_MS, longestMs: LONGEST_WAIT_MS });
  endings += 1;
  wasAway = true;
  // Each tab of each person waits for another time, so that not all come at once to a server that has just started.
  await new Promise((resolve) => setTimeout(resolve, longest * (0.5 + Math.random() / 2)));
}

interface Notification {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** What changed before the server listens for it is not told later, so it is asked for again; after an absence, everything. */
function handOn({ method, params }: Notification, uris: readonly string[]) {
  const said: LiveMessage | undefined =
    method === 'notifications/resources/updated'
      ? { kind: 'changed', uri: String(params?.uri) }
      : method === 'notifications/subscriptions/acknowledged'
        ? wasAway
          ? { kind: 'changed', uri: '' }
          : { kind: 'followed', uris }
        : method === 'notifications/tools/list_changed'
          ? { kind: 'tools' }
          : undefined;
  if (!said) return;
  wasAway = false;
  hear(said);
  say(said);
}
