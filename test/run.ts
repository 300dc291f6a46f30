import { spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';
import { bundle, isRunning } from '../facade/launch/bundle.ts';
import { runsOnPostgres } from './support/both-stores.ts';
import type { TestFile, Work } from './support/file-suite.ts';
import { filesBelow } from './support/files-below.ts';
import { FULL } from './support/full.ts';
import { BUNDLE } from './support/node-args.ts';
import { killOverdue, killStrays } from './support/overdue.ts';
import { postgresPrograms, startPostgresForRun } from './support/postgres.ts';
import { planOf } from './support/processes.ts';
import { processorTime } from './support/processor-time.ts';
import { sourcePlaces } from './support/source-maps.ts';
import { onPostgres } from './support/store.ts';

/**
 * Runs every test file below this folder, or those whose path holds one of the arguments; fails where none ran. With `FULL=1` heavy
 * rounds run too, a skipped test fails the run, and the files run on PostgreSQL too. With `RECORD=1` a run of all files renews the list of the longest.
 */
const root = fileURLToPath(new URL('.', import.meta.url));
const wanted = process.argv.slice(2);
const all = filesBelow(root)
  .filter((file) => /\/.*\.ts$/.test(file) && !/^(bench|mutants)\//.test(file))
  .sort();
const files = all.filter(
  (file) =>
    file.endsWith('.test.ts') &&
    (wanted.length === 0 || wanted.some((part) => file.includes(part))) &&
    (!onPostgres || wanted.length > 0 || runsOnPostgres(file)),
);

// All that tests write lies in one folder, which goes with the run, also where a test ends without clearing up.
const folder = mkdtempSync(join(tmpdir(), 'agent-admin-tests-'));
chmodSync(folder, 0o711); // PostgreSQL runs as another user where this one is root
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
for (const name of left) rmSync(join(dirname(bundled), name), { recursive: true, force: true, maxRetries: 3 });
process.env[BUNDLE] = bundled;
// Else each process would load tsx, which this one needs and the bundle does not.
process.execArgv.length = 0;

const stop = new AbortController();
setMaxListeners(0, stop.signal); // each process of the run listens
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    stop.abort(); // ends the processes of the run
    stopPostgres();
    process.exit(1);
  });

/** Heavy rounds, and the database of all files, take minutes where the machine has other work. */
const FILE_TIMEOUT_MS = (FULL || onPostgres ? 15 : 5) * 60 * 1000;
/** For a process that hangs so that its own time-outs do not fire. Most processes run as long as there are files. */
const PROCESS_TIMEOUT_MS = 75 * 60 * 1000;
/** Node.js keeps the tests of a process in memory, with all that they refer to, until it ends. */
const MOST_FILES = 20;
const SLOWEST_SHOWN = 10;
const LONG_MS = 5000;
const RECORD = process.env.RECORD === '1';
/**
 * Files often wait: for children to start, for upstreams to answer, for a second to pass. With two for each processor, hardly any time of the
 * processors is left; with three, all that runs takes a fifth more of it.
 */
const AT_ONCE = (FULL ? 1 : 2) * availableParallelism();

let passed = 0;
let failed = 0;
const skipped: string[] = [];
/** A line for each test that failed, for the end of what is printed. */
const failures: string[] = [];
/** Milliseconds that each file took, by its name, the start of its process not counted. */
const took = new Map<string, number>();

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const usesPostgres = onPostgres || files.some((file) => textOf(file).includes('support/postgres.ts'));
const stopPostgres = usesPostgres && postgresPrograms() ? await startPostgresForRun() : () => {};
const LONGEST = join(root, 'support/longest-files.tsv');
const longest = new Map(linesOf(LONGEST).map(([file = '', seconds]) => [file, Number(seconds)]));
const taken = join(bundled, 'taken');
mkdirSync(taken);
const costs = join(bundled, 'costs.tsv');
const endWatches = [
  killOverdue(taken, FILE_TIMEOUT_MS),
  killStrays(folder, () => linesOf(costs).length >= files.length),
];
const stream = run({ files: entries(), concurrency: AT_ONCE, timeout: PROCESS_TIMEOUT_MS, signal: stop.signal });
stream.on('test:pass', ({ details, file, nesting, name, skip }) => {
  if (skip !== undefined) skipped.push(`${shown(file)}: ${name} (${skip === true ? 'no reason given' : skip})`);
  else if (details.type !== 'suite') passed += 1;
  if (nesting === 0) took.set(name, details.duration_ms);
});
stream.on('test:fail', ({ details, file, nesting, name }) => {
  failed += 1;
  if (nesting === 0) took.set(name, details.duration_ms);
  noteFailure(file, name, details.error);
});
stream.on('end', () => {
  for (const end of endWatches) end();
  if (passed + failed === 0) console.error(`No test ran: ${files.length} files below ${relative('.', root)}.`);
  const incomplete = unfinished().length > 0 || ((FULL || onPostgres) && skipped.length > 0);
  process.exitCode = failed > 0 || passed === 0 || incomplete ? 1 : 0;
  void stopPostgres();
});
// The report of the runner comes first: what it prints is written before this stream ends.
const inSources = sourcePlaces(bundled);
const report = stream.compose(new spec());
report.on('end', () => {
  process.stdout.write(closing());
  if (FULL && !onPostgres && files.some(runsOnPostgres)) runOnPostgres();
});
report.on('data', (text: string | Buffer) => process.stdout.write(inSources(String(text))));

/** The second part of a full run: the files that are not about the data folder, with the usual rounds, on the other version of PostgreSQL. */
function runOnPostgres(): void {
  console.log('\nOn PostgreSQL:');
  const env = { ...process.env, TEST_STORE: 'postgres', TEST_POSTGRES: 'embedded', FULL: '' };
  const again = spawn(process.execPath, ['--import', 'tsx', join(root, 'run.ts'), ...files.filter(runsOnPostgres)], {
    env,
    stdio: 'inherit',
  });
  stop.signal.addEventListener('abort', () => again.kill());
  again.once('exit', (code) => {
    process.exitCode ||= code ?? 1;
    process.stdout.write(failedLines('Failed in the first part:'));
  });
}

/** The programs of the processes that run the files. */
function entries(): string[] {
  const { alone, queue } = planOf(files, textOf, (file) => longest.get(file) ?? 0);
  // Those that begin later have something to do for certain: what takes least.
  const later = Math.max(0, Math.ceil(queue.length / MOST_FILES) - AT_ONCE);
  const first = queue.slice(0, AT_ONCE);
  const last = queue.slice(queue.length - later);
  const rest = queue.slice(AT_ONCE, queue.length - later);
  const shared = [...first, ...last].map((own, index, all) =>
    entryOf(own, rest, index < all.length - AT_ONCE ? MOST_FILES : rest.length),
  );
  return [...alone.map((file) => entryOf([file], [], 0)), ...shared];
}

function entryOf(own: readonly string[], queue: readonly (readonly string[])[], most: number): string {
  const inBundle = (file: string) => join(bundled, 'test', file).replace(/\.ts$/, '.mjs');
  const named = (names: readonly string[]): TestFile[] => names.map((name) => ({ name, path: inBundle(name) }));
  const work: Work = { own: named(own), queue: queue.map(named), most, taken, costs, timeoutMs: FILE_TIMEOUT_MS };
  const entry = join(bundled, `process-${own[0]?.replaceAll(/\W/g, '-')}.mjs`);
  writeFileSync(entry, `import { runFiles } from './test/support/file-suite.mjs';\nrunFiles(${JSON.stringify(work)});`);
  return entry;
}

/** The cells of a table, which may not be there. */
function linesOf(table: string): string[][] {
  if (!existsSync(table)) return [];
  return readFileSync(table, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
}

/** Keeps a line for the end, and for programs that must know why a test failed one with its name, the kind of failure and the first line of the error. */
function noteFailure(file: string | undefined, name: string, error: Error & { failureType?: string }): void {
  const cause = error.cause instanceof Error ? error.cause.message : error.message;
  const [first = ''] = cause.trim().replaceAll('\t', ' ').split('\n', 1);
  if (process.env.FAILURES) appendFileSync(process.env.FAILURES, `${[name, error.failureType, first].join('\t')}\n`);
  const told = cause
    .split(/\s*\n\s*/)
    .filter(Boolean)
    .join(' | ')
    .slice(0, MOST_TOLD);
  if (error.failureType !== 'subtestsFailed') failures.push(`  ${shown(file)}: ${name}: ${told}`);
}

/** Of the message of a failure, in the list of all at the end. */
const MOST_TOLD = 600;

function failedLines(title: string): string {
  return failures.length > 0 ? ['', title, ...failures, ''].join('\n') : '';
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
  const cost = new Map(linesOf(costs).map(([file = '', ms]) => [file, Number(ms)]));
  const secondsOf = (ms = 0) => `${(ms / 1000).toFixed(1).padStart(6)} s`;
  const slowest = [...took].sort(([, one], [, other]) => other - one).slice(0, SLOWEST_SHOWN);
  const lines = slowest.map(([file, ms]) => `  ${secondsOf(ms)} ${secondsOf(cost.get(file))}  ${file}`);
  const unrun = skipped.map((test) => `  ${test}`);
  if (RECORD) writeFileSync(LONGEST, longestFiles());
  return [
    ...(lines.length > 1 ? ['', 'Slowest files, with their processor time:', ...lines] : []),
    ...(unfinished().length > 0 ? ['', 'Not run to their end:', ...unfinished().map((file) => `  ${file}`)] : []),
    ...(unrun.length > 0 ? ['', FULL ? 'Skipped, which a full run must not:' : 'Skipped:', ...unrun] : []),
    failedLines('Failed:'),
    `Processor time in all: ${(processorTime() / 1000).toFixed(0)} s`,
    '',
  ].join('\n');
}

/** The files that take long enough that it matters when they begin, with their seconds: also those that wait, as one that begins last is waited for. */
function longestFiles(): string {
  const long = [...took].filter(([, ms]) => ms >= LONG_MS).sort(([, one], [, other]) => other - one);
  return long.map(([file, ms]) => `${file}\t${(ms / 1000).toFixed(0)}\n`).join('');
}
