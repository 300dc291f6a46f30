import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, root } from '../../facade/launch/bundle.ts';

export interface Measurable {
  readonly baseUrl: string;
  readonly child: ChildProcess;
}

export interface Subject extends Measurable {
  readonly id: string;
  readonly openMs: number;
}

const programs = join(root, 'node_modules/.cache/agent-admin-bench', String(process.pid));
process.once('exit', () => rmSync(programs, { recursive: true, force: true }));

/** Bundles the servers as `npm start` bundles the product. */
export function prepare(): Promise<void> {
  return bundle(['test/bench/subject.ts', 'test/bench/baseline.ts'], programs);
}

export async function start(
  program: 'subject' | 'baseline' | 'baseline-postgres',
  ...args: string[]
): Promise<Subject> {
  const child = fork(join(programs, 'test/bench', `${program}.mjs`), args);
  const [facts] = await once(child, 'message');
  return { ...facts, child };
}

export async function stop({ child }: Measurable): Promise<void> {
  child.send('stop');
  await once(child, 'exit');
}

/** Tells the process something and waits for what it says then. */
export async function tell({ child }: Measurable, message: object | string): Promise<unknown> {
  child.send(message);
  const [answer] = await once(child, 'message');
  return answer;
}

/** What the process has used until now, in microseconds. */
export async function cpuTime(server: Measurable): Promise<number> {
  const { user, system } = (await tell(server, 'cpu')) as NodeJS.CpuUsage; // as both programs answer
  return user + system;
}
