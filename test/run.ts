import { setMaxListeners } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { bundle, isRunning } from '../facade/launch/bundle.ts';
import type { TestFile } from './support/file-suite.ts';
import { FULL } from './support/full.ts';
import { BUNDLE } from './support/node-args.ts';
import { processesOf } from './support/processes.ts';
import { sourcePlaces } from './support/source-places.ts';

/**
 * Runs every test file below this folder, or those whose path holds one of the arguments; fails where none ran. With `FULL=1` the
 * heavy rounds are complete, and a skipped test fails the run.
 */
const root = fileURLToPath(new URL('.', import.meta.url));
const wanted = process.argv.slice(2);
const all = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\/.*\.ts$/.test(file) && !/node_modules|^bench/.test(file))
  .sort();
const files = all.filter(
  (file) => file.endsWith('.test.ts') && (wanted.length === 0 || wanted.some((part) => file.includes(part))),
);

// All that tests write lies in one folder, which goes with the run, also where a test ends without clearing up.
const folder = mkdtempSync(join(tmpdir(), 'agent-admin-tests-'));
process.env.TMPDIR = folder;
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
// One bundle of all of them and their packages, as reading 1,000 files again in each process takes long.
const bundled = join(realpathSync(join(root, '../node_modules')), '.cache/agent-admin-tests', String(process.pid));
process.once('exit', () => rmSync(bundled, { recursive: true, force: true }));
/** Packages that look for files of their own, or that few tests use and that are large. */
const EXTERNAL = ['playwright-core', 'gpt-tokenizer', 'esbuild', 'typescript'];
const programs = all.filter((file) => !file.endsWith('.test.ts'));
await bundle(
  [...programs, ...files].map((file) => `test/${file}`),
  bundled,
  EXTERNAL,
);
// What runs that were killed have left.
const left = readdirSync(dirname(bundled)).filter((name) => !isRunning(Number.parseInt(name, 10)));
for (const name of left) rmSync(join(dirname(bundled), name), { recursive: true, force: true });
process.env[BUNDLE] = bundled;
// Else each process would load tsx, which this one needs and the bundle does not.
process.execArgv.length = 0;

const stop = new AbortController();
setMaxListeners(0, stop.signal); // each process of the run listens
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    stop.abort(); // ends the processes of the run
    process.exit(1);
  });

const FILE_TIMEOUT_MS = 5 * 60 * 1000;
/** For a process that hangs so that its own time-outs do not fire. */
const PROCESS_TIMEOUT_MS = 3 * FILE_TIMEOUT_MS;
const SLOWEST_SHOWN = 10;
/** Many files mostly wait: for children to start, for upstreams to answer, for a second to pass. */
const AT_ONCE = FULL ? availableParallelism() : 2 * availableParallelism();

let passed = 0;
let failed = 0;
const skipped: string[] = [];
/** Milliseconds that each file took, by its name, the start of its process not counted. */
const took = new Map<string, number>();

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const stream = run({
  files: processesOf(files, textOf, AT_ONCE).map(entryOf),
  concurrency: AT_ONCE,
  timeout: PROCESS_TIMEOUT_MS,
  signal: stop.signal,
});
stream.on('test:pass', ({ details, file, nesting, name, skip }) => {
  if (skip !== undefined) skipped.push(`${shown(file)}: ${name} (${skip === true ? 'no reason given' : skip})`);
  else if (details.type !== 'suite') passed += 1;
  if (nesting === 0) took.set(name, details.duration_ms);
});
stream.on('test:fail', ({ details, nesting, name }) => {
  failed += 1;
  if (nesting === 0) took.set(name, details.duration_ms);
});
stream.on('end', () => {
  if (passed + failed === 0) console.error(`No test ran: ${files.length} files below ${relative('.', root)}.`);
  const incomplete = unfinished().length > 0 || (FULL && skipped.length > 0);
  process.exitCode = failed > 0 || passed === 0 || incomplete ? 1 : 0;
});
// The report of the runner comes first: what it prints is written before this stream ends.
const inSources = sourcePlaces(bundled);
const report = stream.compose(new spec());
report.on('end', () => process.stdout.write(closing()));
report.on('data', (text: string | Buffer) => process.stdout.write(inSources(String(text))));

/** The program of a process that runs these files. */
function entryOf(files: readonly string[], index: number): string {
  const inBundle = (file: string) => join(bundled, 'test', file).replace(/\.ts$/, '.mjs');
  const named: TestFile[] = files.map((file) => ({ name: file, path: inBundle(file) }));
  const entry = join(bundled, `process-${index}.mjs`);
  const text = `import { runFiles } from './test/support/file-suite.mjs';\nrunFiles(${JSON.stringify(named)}, ${FILE_TIMEOUT_MS});`;
  writeFileSync(entry, text);
  return entry;
}

/** Files of which nothing was heard, since their process ended early. */
function unfinished(): string[] {
  return files.filter((file) => !took.has(file));
}

function shown(file: string | undefined): string {
  if (!file) return '(unknown file)';
  return relative(file.startsWith(bundled) ? join(bundled, 'test') : root, file).replace(/\.mjs$/, '.ts');
}

function closing(): string {
  const slowest = [...took].sort(([, one], [, other]) => other - one).slice(0, SLOWEST_SHOWN);
  const lines = slowest.map(([file, ms]) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`);
  const unrun = skipped.map((test) => `  ${test}`);
  return [
    ...(lines.length > 1 ? ['', 'Slowest files:', ...lines] : []),
    ...(unfinished().length > 0 ? ['', 'Not run to their end:', ...unfinished().map((file) => `  ${file}`)] : []),
    ...(unrun.length > 0 ? ['', FULL ? 'Skipped, which a full run must not:' : 'Skipped:', ...unrun] : []),
    '',
  ].join('\n');
}
