import { fork } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, constants, mkdir } from 'node:fs/promises';
import { setPriority, constants as system } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Backup } from '../../resources/backup.ts';
import type { IntegrationHealth } from '../../resources/health.ts';
import { StoreBusy } from '../../store/errors.ts';
import { listBackups, makeBackup, pruneBackups } from '../../store/lowdb/backup.ts';
import { type PeriodicTask, startPeriodicTask } from '../../store/periodic-task.ts';
import type { BackupState, Backups } from '../../tools/backups.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';
import { type BackupSettings, isOverdue, NEVER, nextTime } from '../config/data-config.ts';

const LOOK_MS = 20_000;
const RETRY_MS = 15 * 60_000;

interface BackupsOptions extends BackupSettings {
  readonly dataDir: string;
  now(): Date;
  onFailure(cause: unknown): void;
  readonly copy?: (dataDir: string, target: string, signal: AbortSignal) => Promise<unknown>;
}

interface Failure {
  readonly at: number;
  readonly reason: string;
}

/** Makes backups of the data folder by schedule and on request, one at a time, and keeps the newest. */
export class ServerBackups implements Backups, Dependency {
  readonly #options: BackupsOptions;
  readonly #startedAt: Date;
  readonly #ending = new AbortController();
  #last: Backup | undefined;
  #failure: Failure | undefined;
  #refusal: string | undefined;
  #makingSince: Date | undefined;
  #making: Promise<unknown> = Promise.resolve();
  #looking: PeriodicTask | undefined;

  constructor(options: BackupsOptions) {
    this.#options = { ...options, folder: resolve(options.folder), dataDir: resolve(options.dataDir) };
    this.#startedAt = options.now();
  }

  start(): void {
    this.#looking = startPeriodicTask(() => this.look(), this.#options.onFailure, LOOK_MS);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#looking?.close();
    await this.#making;
  }

  async list(): Promise<readonly Backup[]> {
    const { folder } = this.#options;
    try {
      return await listBackups(folder);
    } catch (cause) {
      throw new StoreBusy(
        `The backups in ${folder} cannot be read (${reasonOf(cause)}); let the server read the folder.`,
      );
    }
  }

  async look(): Promise<void> {
    await this.#inspect();
    if (this.#isDue()) await this.make().catch(() => {}); // the state says what failed
  }

  make(): Promise<Backup> {
    const made = this.#attempt();
    this.#making = made.catch(() => {});
    return made;
  }

  async #attempt(): Promise<Backup> {
    const { folder, dataDir: source, keep, now, onFailure, copy = copyInProcess } = this.#options;
    const at = now();
    this.#makingSince = at;
    try {
      const made = await makeBackup({ folder, source }, at, (target) => copy(source, target, this.#ending.signal));
      this.#last = made;
      this.#failure = undefined;
      this.#refusal = undefined;
      await pruneBackups({ folder, source }, keep).catch(onFailure);
      return made;
    } catch (cause) {
      const reason = reasonOf(cause);
      this.#failure = { at: now().getTime(), reason };
      if (!this.#ending.signal.aborted) onFailure(cause);
      throw new StoreBusy(failureText(folder, reason));
    } finally {
      this.#makingSince = undefined;
    }
  }

  async #inspect(): Promise<void> {
    const { folder, dataDir, now } = this.#options;
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      // Backups may have many files, so they are looked at only where the last one is unknown or was removed.
      if (!this.#last || !existsSync(join(folder, this.#last.name)))
        this.#last = (await listBackups(folder)).find(
          (one) => one.verified && one.source === dataDir && !isAhead(one, now()),
        );
      this.#refusal = undefined;
    } catch (cause) {
      if (this.#refusal === undefined) this.#options.onFailure(cause);
      this.#refusal = reasonOf(cause);
    }
  }

  #isDue(): boolean {
    const { schedule, now } = this.#options;
    const today = now();
    if (this.#makingSince || this.#refusal !== undefined || this.#ending.signal.aborted) return false;
    if (this.#failure && Math.abs(today.getTime() - this.#failure.at) < RETRY_MS) return false;
    if (!this.#last || isAhead(this.#last, today)) return schedule !== NEVER;
    const next = nextTime(schedule, new Date(this.#last.at));
    return next !== undefined && next <= today;
  }

  state(): BackupState {
    const { folder, schedule, now } = this.#options;
    const known = { last: this.#last, makingSince: this.#makingSince };
    const reason = this.#refusal ?? this.#failure?.reason;
    if (reason !== undefined) return { ...known, status: 'failed', problem: failureText(folder, reason) };
    const since = this.#last ? new Date(this.#last.at) : this.#startedAt;
    if (!isOverdue(schedule, since, now())) return { ...known, status: 'ok' };
    const problem = `No backup was made since ${since.toISOString()}; call create_backup, and read the log for what kept it.`;
    return { ...known, status: 'old', problem };
  }

  async health(): Promise<readonly IntegrationHealth[]> {
    const { status, problem } = this.state();
    const lastError = problem !== undefined && { lastError: problem };
    return [
      { name: 'backups', kind: 'folder', status: status === 'ok' ? 'ok' : 'degraded', latencyMs: 0, ...lastError },
    ];
  }
}

/** Whether it was made while the clock was wrong. */
function isAhead({ at }: Backup, now: Date): boolean {
  return Date.parse(at) > now.getTime();
}

function reasonOf(cause: unknown): string {
  const [reason = ''] = String(cause instanceof Error ? cause.message : cause).split('\n');
  return reason;
}

function failureText(folder: string, reason: string): string {
  return `No backup could be made in ${folder} (${reason}). Make room there and let the server write to it, then call create_backup.`;
}

/** Undefined if BACKUP_FOLDER is not set, or the data is not in a folder: PostgreSQL has tools of its own for that. */
export function createBackups(
  { backups, dataDir }: { readonly backups: BackupSettings | undefined; readonly dataDir: string },
  { store, now, onFailure }: Pick<BackupsOptions, 'now' | 'onFailure'> & { readonly store: { readonly kind: string } },
): ServerBackups | undefined {
  return backups && store.kind === 'lowdb' ? new ServerBackups({ ...backups, dataDir, now, onFailure }) : undefined;
}

const LAUNCH = fileURLToPath(new URL('../launch/launch.mjs', import.meta.url));
const MOST_SAID = 2000;

/** Runs `backup` in a process of its own, since opening the copy takes the memory and time of a start. It ends with this process. */
function copyInProcess(dataDir: string, target: string, signal: AbortSignal): Promise<void> {
  const child = fork(LAUNCH, ['commands/backup', target], {
    env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: '' },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  giveWay(child.pid);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, MOST_SAID);
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) => child.pid === undefined && reject(error));
    child.once('close', (code, killed) => {
      const [reason = ''] = said.trim().split('\n');
      if (code === 0) resolve();
      else reject(new Error(reason || `the program ended with ${killed ?? code}`));
    });
  });
}

function giveWay(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, system.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // The copy is made all the same where the system does not let it.
  }
}
