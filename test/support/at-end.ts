import type { ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import { after } from 'node:test';

/** The open resources that keep the process of a test file alive. */
const open = new Set<() => Promise<unknown>>();
/** What others of them use until they are closed. */
const below = new Set<() => Promise<unknown>>();
const MOST_MS = 10_000;

/**
 * Has what was just started closed when the tests of the file are over, whatever came of them: a failing assertion never gets to a `close`
 * further down, and the file would last until its time-out. Returns the closing, which happens once however often it is called.
 */
export function closedAtEnd(close: () => unknown): () => Promise<void> {
  return closedWith(open, close);
}

/** The same, after everything else of the file. */
export function closedLast(close: () => unknown): () => Promise<void> {
  return closedWith(below, close);
}

function closedWith(all: Set<() => Promise<unknown>>, close: () => unknown): () => Promise<void> {
  let closing: Promise<void> | undefined;
  const once = () => {
    all.delete(once);
    closing ??= Promise.resolve(close()).then(() => {});
    return closing;
  };
  all.add(once);
  return once;
}

/** The same for a process. */
export function killedAtEnd<Child extends ChildProcess>(child: Child): Child {
  const kill = closedAtEnd(() => child.kill('SIGKILL'));
  child.once('exit', () => void kill());
  return child;
}

/** The same for what listens, with its connections. */
export function stoppedAtEnd<Listener extends Server>(server: Listener): Listener {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const stop = closedAtEnd(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  server.once('close', () => void stop());
  return server;
}

/** The open resources that several files of the process use. */
const shared = new Set<() => Promise<unknown>>();

/** Has what other files of the process will use too closed after the last of them. */
export function closedAfterLastFile(close: () => Promise<unknown>): void {
  shared.add(close);
}

/** Closes what the file that ran has left open. */
export async function closeAll(): Promise<void> {
  await closeThese(open);
  await closeThese(below);
}

/** Closes what was open for all files. */
export function closeShared(): Promise<void> {
  return closeThese(shared);
}

/** What was opened last is closed first, because it may use what was opened before. What takes too long is not waited for. */
async function closeThese(all: ReadonlySet<() => Promise<unknown>>): Promise<void> {
  const late = new Promise((resolve) => setTimeout(resolve, MOST_MS).unref());
  for (const close of [...all].reverse()) await Promise.race([close().catch(() => {}), late]);
}

// For a file that is run by itself. Programs that tests start read these files too, and have no tests that could end.
if (/\.test\.m?[jt]s$/.test(process.argv[1] ?? '')) after(() => closeAll().then(closeShared));
