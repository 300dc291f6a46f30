import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { root } from '../../facade/launch/bundle.ts';
import { freePort } from '../support/free-port.ts';
import { headersFor, KEY } from './scenarios.ts';

const SECOND_STARTS = 3;

export interface StartTimes {
  /** Milliseconds from the start of the process to its first answer, on an empty store: where nothing is kept of an earlier start. */
  readonly first: number;
  /** The same from the second start on; the median of a few. */
  readonly second: number;
}

/** Starts a copy of the product, which keeps nothing yet. */
export async function measureStarts(): Promise<StartTimes> {
  const copy = mkdtempSync(join(tmpdir(), 'agent-admin-start-'));
  try {
    for (const name of 'facade resources store tools data package.json package-lock.json tsconfig.json'.split(' ')) {
      cpSync(join(root, name), join(copy, name), { recursive: true });
    }
    mkdirSync(join(copy, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules')).filter((each) => each !== '.cache')) {
      symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
    }
    const first = await startOnce(copy);
    const others: number[] = [];
    for (let count = 0; count < SECOND_STARTS; count += 1) others.push(await startOnce(copy));
    return { first, second: others.sort((a, b) => a - b)[SECOND_STARTS >> 1] ?? 0 };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

async function startOnce(folder: string): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), 'agent-admin-start-data-'));
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, ['facade/launch/launch.mjs', 'main'], {
    cwd: folder,
    env: { ...process.env, PORT: String(port), DATA_DIR: data, LOG_LEVEL: 'silent', BOOTSTRAP_API_KEY: KEY },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`The server ended with ${child.exitCode} before it answered.`);
    await setTimeout(5);
  }
  const took = performance.now() - started;
  child.kill();
  await ended;
  rmSync(data, { recursive: true, force: true });
  return Math.round(took);
}

async function answers(port: number): Promise<boolean> {
  const asked = fetch(`http://127.0.0.1:${port}/api/v1/health`, { headers: headersFor({}) });
  const answer = await asked.catch(() => undefined); // it does not listen yet
  await answer?.arrayBuffer();
  return answer?.status === 200;
}
