import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Work } from '../support/file-suite.ts';
import { BUNDLE } from '../support/node-args.ts';
import { postgresPrograms, startPostgresForRun } from '../support/postgres.ts';
import { planOf } from '../support/processes.ts';
import { copyOfProject } from '../support/project-copy.ts';
import { randomFrom } from '../support/random.ts';
import { areas } from './areas.ts';
import { type Mutant, plant } from './instrument.ts';

/**
 * `npm run mutations -- --area access --sample 60 --seed 1`: plants mutants in a copy of the project and counts those that the tests of the
 * area find. `--all`: every mutant; `--at reach.ts:32`: those of a line. `--tests tools/apps`: by other test files than those of the area.
 * Survivors are printed unless `survivors.tsv` gives a reason.
 */
const { values } = parseArgs({
  options: {
    area: { type: 'string', multiple: true, default: Object.keys(areas) },
    sample: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
    at: { type: 'string', multiple: true },
    tests: { type: 'string', multiple: true },
  },
});
/** Nothing may be heard of a test file for so many times as long as it took without a mutant. */
const PATIENCE = 5;
const LEAST_MS = 60_000;
/** Node.js keeps the tests of a process in memory until it ends. */
const MOST_FILES = 20;
/** As many as in a run of the tests: they often wait. */
const AT_ONCE = 2 * availableParallelism();
const WANTED = 0.85;

const tests = readdirSync(new URL('..', import.meta.url), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/node_modules|^bench/.test(file),
);
const reasons = readFileSync(new URL('survivors.tsv', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.split('\t'));

interface TestFile {
  readonly name: string;
  /** In the bundle. */
  readonly path: string;
  /** It must have a process of its own. */
  readonly alone: boolean;
  readonly onPostgres: boolean;
  ms: number;
}

/** Programs that were written. */
let written = 0;

const stopPostgres = postgresPrograms() ? await startPostgresForRun() : async () => {};
process.once('exit', () => void stopPostgres());
for (const name of values.area) await measure(name);
await stopPostgres();

async function measure(name: string): Promise<void> {
  const area = areas[name];
  if (!area) throw new Error(`There is no area ${name}; there are ${Object.keys(areas).join(', ')}.`);
  const folder = copyOfProject();
  chmodSync(folder, 0o711); // PostgreSQL runs as another user where this one is root
  const mutants = await plant(folder, area.sources);
  letSideProcessesKnow(folder);
  const files = values.tests ? bundled(folder, values.tests) : bundled(folder, area.tests, area.onPostgres);
  const reached = await inTurns(files, (file) => reachedBy(file, folder));
  const coverage = new Map<string, TestFile[]>();
  for (const [at, ids] of reached.entries())
    for (const id of ids) coverage.set(id, [...(coverage.get(id) ?? []), files[at] as TestFile]); // there is one for each
  const sample = chosen(mutants);
  let killed = 0;
  let excused = 0;
  await inTurns(sample, async (mutant) => {
    const by = coverage.get(mutant.id) ?? [];
    const found = await findFault(
      folder,
      mutant,
      [...by].sort((one, other) => one.ms - other.ms),
    );
    if (found) killed += 1;
    else if (reasonOf(mutant)) excused += 1;
    const verdict = found ? 'found' : (reasonOf(mutant) ?? (by.length === 0 ? 'reached by no test' : 'survived'));
    const { file, line, kind, was, becomes } = mutant;
    if (!found) console.log([verdict, file, line, kind, was, becomes, by.map(nameOf).join(' ')].join('\t'));
  });
  const score = killed / (sample.length - excused);
  console.log(
    [
      ...[
        name,
        `${mutants.length} mutants, ${coverage.size} reached`,
        `${sample.length} tried`,
        `${killed} found`,
        `${excused} with a reason`,
      ],
      ...[`${(100 * score).toFixed(0)} %`, values.at?.join(' ') ?? (values.all ? 'all' : `seed ${values.seed}`)],
    ].join('\t'),
  );
  if (!(score >= WANTED)) process.exitCode = 1;
}

function chosen(mutants: readonly Mutant[]): readonly Mutant[] {
  if (values.at)
    return mutants.filter(({ file, line }) => values.at?.some((place) => `${file}:${line}`.endsWith(place)));
  return values.all ? mutants : sampled(mutants, Number(values.sample), randomFrom(Number(values.seed)));
}

/** Side processes get hardly any environment: in the copy they are told which mutant is on. */
function letSideProcessesKnow(folder: string): void {
  const file = join(folder, 'tools/core/side-process/side-process.ts');
  const text = readFileSync(file, 'utf8');
  const told = text.replace('env: { PATH:', 'env: { ...process.env, PATH:');
  if (told === text) throw new Error(`${file} no longer says what environment it gives.`);
  writeFileSync(file, told);
}

function reasonOf({ file, was, becomes }: Mutant): string | undefined {
  return reasons.find((row) => row[0] === file && row[1] === was && row[2] === becomes)?.[3];
}

/** Bundles the test files and what they start. Those `onPostgres` run on PostgreSQL, besides those that run as they are. */
function bundled(folder: string, asTheyAre: readonly string[], onPostgres: readonly string[] = []): TestFile[] {
  const having = (parts: readonly string[]) =>
    tests.filter((file) => file.endsWith('.test.ts') && parts.some((part) => file.includes(part))).sort();
  const [own, more] = [having(asTheyAre), postgresPrograms() ? having(onPostgres) : []];
  const names = [...new Set([...own, ...more])];
  const programs = tests.filter(
    (file) => file.includes('/') && !/\.(test|d)\.ts$|^mutants|^fuzz\/(run|loop)/.test(file),
  );
  const into = join(folder, 'bundle');
  const list = JSON.stringify({ tests: names, programs });
  const args = ['--import', 'tsx', join(folder, 'test/mutants/bundle.ts'), into, list];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The copy cannot be bundled: ${stderr}`);
  const { alone } = planOf(
    names,
    (name) => readFileSync(join(folder, 'test', name), 'utf8'),
    () => 0,
  );
  const inBundle = (name: string) => join(into, 'test', name).replace(/\.ts$/, '.mjs');
  const fileOf = (name: string, onPostgres: boolean) => {
    return { name, path: inBundle(name), alone: alone.includes(name), onPostgres, ms: 0 };
  };
  return [...own.map((name) => fileOf(name, false)), ...more.map((name) => fileOf(name, true))];
}

function nameOf({ name, onPostgres }: TestFile): string {
  return onPostgres ? `${name} on PostgreSQL` : name;
}

/** Runs the file without a mutant, and says which it reaches. One that fails so can judge nothing. */
async function reachedBy(file: TestFile, folder: string): Promise<string[]> {
  const notes = join(folder, 'reached', nameOf(file).replaceAll(/\W/g, '-'));
  mkdirSync(notes, { recursive: true });
  const hook = new URL('reached.mjs', import.meta.url).href;
  const begun = performance.now();
  const passes = await run(folder, [file], { NODE_OPTIONS: `--import ${hook}`, REACHED_MUTANTS: notes });
  file.ms = performance.now() - begun;
  if (!passes) console.log(`fails without a mutant\t${nameOf(file)}`);
  if (!passes) return [];
  return [
    ...new Set(
      readdirSync(notes)
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => JSON.parse(readFileSync(join(notes, name), 'utf8'))),
    ),
  ];
}

/** Runs the files in as few processes as they allow, as starting one takes as long as many files do. */
async function findFault(folder: string, { id }: Mutant, files: readonly TestFile[]): Promise<boolean> {
  const processes = files.filter(({ alone }) => alone).map((file) => [file]);
  for (const store of [true, false]) {
    const shared = files.filter(({ alone, onPostgres }) => !alone && onPostgres === store);
    while (shared.length > 0) processes.unshift(shared.splice(-MOST_FILES));
  }
  for (const each of processes) if (!(await run(folder, each, { __STRYKER_ACTIVE_MUTANT__: id }))) return true;
  return false;
}

/** Whether all tests of the files pass. The first failure ends them, as does a long silence. */
function run(folder: string, files: readonly TestFile[], env: Readonly<Record<string, string>>): Promise<boolean> {
  const patience = Math.max(LEAST_MS, ...files.map(({ ms }) => PATIENCE * ms || 10 * LEAST_MS));
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--test-reporter=tap', programOf(folder, files)], {
      env: { ...process.env, ...storeOf(files), [BUNDLE]: join(folder, 'bundle'), TMPDIR: folder, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true, // so that what it started ends with it
    });
    const end = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {} // it ended by itself
    };
    const silent = setTimeout(end, patience);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      silent.refresh();
      if (/^\s*not ok /m.test(text)) end();
    });
    child.once('exit', (code) => {
      clearTimeout(silent);
      end();
      resolve(code === 0);
    });
  });
}

function storeOf([file]: readonly TestFile[]): Readonly<Record<string, string>> {
  return file?.onPostgres ? { TEST_STORE: 'postgres' } : {};
}

function programOf(folder: string, files: readonly TestFile[]): string {
  written += 1;
  const own = files.map(({ name, path }) => ({ name, path }));
  const work: Work = { own, queue: [], most: 0, taken: folder, costs: join(folder, 'costs'), timeoutMs: 300_000 };
  const program = join(folder, 'bundle', `run-${written}.mjs`);
  writeFileSync(
    program,
    `import { runFiles } from './test/support/file-suite.mjs';\nrunFiles(${JSON.stringify(work)});`,
  );
  return program;
}

function sampled<Item>(items: readonly Item[], count: number, random: () => number): Item[] {
  const left = [...items];
  return Array.from({ length: Math.min(count, left.length) }, () =>
    left.splice(Math.floor(random() * left.length), 1),
  ).flat();
}

async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const queue = [...items.entries()];
  const lane = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return results;
}
