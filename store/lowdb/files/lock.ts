import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { isDiskFull } from '../../disk-full.ts';
import { StoreLocked } from '../../errors.ts';
import { noProgress, type OpenProgress } from '../../open-progress.ts';
import { LOCK } from './folder.ts';

const HEARTBEAT_MS = 1000;
/** A holder that missed this many heartbeats is considered gone. */
const MISSED = 4;

const holder = z.object({ pid: z.int(), host: z.string() });

/**
 * Keeps other processes out of a data folder: by an abstract socket on Linux, which the kernel frees when its process ends, and by a file
 * with a heartbeat for other systems and for folders that hosts or containers share.
 */
export class FolderLock {
  readonly #path: string;
  readonly #socket: Server | undefined;
  readonly #heartbeat: NodeJS.Timeout;

  private constructor(path: string, socket: Server | undefined) {
    this.#path = path;
    this.#socket = socket;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS).unref();
  }

  static async take(folder: string, opening: OpenProgress = noProgress): Promise<FolderLock> {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, LOCK);
    const socket = process.platform === 'linux' ? await bind(folder, path) : undefined;
    try {
      await clearStaleLock(folder, path, opening);
      writeFileSync(path, `${JSON.stringify({ pid: process.pid, host: hostname() })}\n`, { flag: 'wx', mode: 0o600 });
    } catch (error) {
      socket?.close();
      if (isCode(error, 'EEXIST')) throw locked(folder, path);
      if (isDiskFull(error)) rmSync(path, { force: true });
      throw error;
    }
    return new FolderLock(path, socket);
  }

  async release(): Promise<void> {
    clearInterval(this.#heartbeat);
    rmSync(this.#path, { force: true });
    if (this.#socket) await new Promise((resolve) => this.#socket?.close(resolve));
  }

  #beat(): void {
    const now = new Date();
    try {
      utimesSync(this.#path, now, now);
    } catch {
      // The next heartbeat tries again. Until then the socket holds the lock.
    }
  }
}

export function holderOf(folder: string): z.infer<typeof holder> | undefined {
  const path = join(folder, LOCK);
  const beat = statSync(path, { throwIfNoEntry: false });
  return beat && Date.now() - beat.mtimeMs < MISSED * HEARTBEAT_MS ? readHolder(path) : undefined;
}

async function bind(folder: string, path: string): Promise<Server> {
  const { dev, ino } = statSync(folder);
  const server = createServer((connection) => connection.destroy());
  server.unref();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(`\0agent-admin-${dev}-${ino}`, resolve);
    });
  } catch (error) {
    throw isCode(error, 'EADDRINUSE') ? locked(folder, path) : error;
  }
  return server;
}

/** Removes the lock file of a holder that is gone: its process has ended, or its heartbeat has stopped. */
async function clearStaleLock(folder: string, path: string, opening: OpenProgress): Promise<void> {
  if (!existsSync(path)) return;
  const found = readHolder(path);
  const ended = found?.host === hostname() && found.pid !== process.pid && !isAlive(found.pid);
  const seen = statSync(path).mtimeMs;
  for (let beat = 0; beat < MISSED && !ended; beat += 1) {
    opening.step(`waiting whether ${holderNamed(path)} still holds the lock of the folder`);
    await delay(HEARTBEAT_MS, undefined, { signal: opening.signal });
    if (!existsSync(path)) return;
    if (statSync(path).mtimeMs !== seen) throw locked(folder, path);
  }
  rmSync(path, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isCode(error, 'ESRCH');
  }
}

function readHolder(path: string): z.infer<typeof holder> | undefined {
  try {
    return holder.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

function locked(folder: string, path: string): StoreLocked {
  return new StoreLocked(
    `${folder} is open in ${holderNamed(path)}. Stop it first: one process at a time can use a data folder.`,
  );
}

function holderNamed(path: string): string {
  const found = readHolder(path);
  return found ? `process ${found.pid} on ${found.host}` : 'another process';
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
