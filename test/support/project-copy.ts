import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A copy of the project in which faults are planted; it goes with the process. */
export function copyOfProject(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-admin-mutations-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  cpSync(root, folder, { recursive: true, filter: (path) => !/\/(node_modules|\.git|data\/local)$/.test(path) });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
