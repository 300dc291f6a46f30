import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

/** Runs every test file below this folder, or those whose path holds one of the arguments; fails where none ran. */
const root = fileURLToPath(new URL('.', import.meta.url));
const wanted = process.argv.slice(2);
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((part) => file.includes(part))))
  .sort()
  .map((file) => `${root}${file}`);

// All that tests write lies in one folder, which goes with the run, also where a test ends without clearing up.
const folder = mkdtempSync(join(tmpdir(), 'agent-admin-tests-'));
process.env.TMPDIR = folder;
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

let passed = 0;
let failed = 0;
const stream = run({ files, concurrency: availableParallelism(), timeout: 15 * 60 * 1000 });
stream.on('test:pass', ({ details }) => {
  if (details.type !== 'suite') passed += 1;
});
stream.on('test:fail', () => {
  failed += 1;
});
stream.on('end', () => {
  if (passed + failed === 0) console.error(`No test ran: ${files.length} files below ${relative('.', root)}.`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
});
stream.compose(new spec()).pipe(process.stdout);
