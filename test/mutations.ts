import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mutation, mutated, mutations } from './support/mutations.ts';

/**
 * Plants each fault of `mutations.json` in a copy of the project, one at a time, and runs the test that must fail then. With arguments, only
 * those whose name contains one of them. Exits with 1 where a fault is not found.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const TIMEOUT_MS = 10 * 60 * 1000;
const wanted = process.argv.slice(2);
const chosen = mutations.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));

const folder = mkdtempSync(join(tmpdir(), 'agent-admin-mutations-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
cpSync(root, folder, { recursive: true, filter: (path) => !/\/(node_modules|\.git|data\/local)$/.test(path) });
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

const survivors = chosen.filter((mutation) => {
  const said = verdict(mutation);
  console.log(`${said}\t${mutation.name}\t${mutation.test}`);
  return said === 'survived';
});
console.log(`${chosen.length - survivors.length} of ${chosen.length} planted faults were found.`);
process.exitCode = survivors.length > 0 || chosen.length === 0 ? 1 : 0;

function verdict(mutation: Mutation): 'found' | 'survived' {
  const path = join(folder, mutation.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(text, mutation));
  const result = spawnSync(process.execPath, ['--import', 'tsx', 'test/run.ts', mutation.test], {
    cwd: folder,
    env: { ...process.env, ...(mutation.store && { TEST_STORE: mutation.store }) },
    stdio: 'ignore',
    timeout: TIMEOUT_MS,
  });
  writeFileSync(path, text);
  return result.status === 0 ? 'survived' : 'found';
}
