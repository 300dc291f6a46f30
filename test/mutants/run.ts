import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BUNDLE } from '../support/node-args.ts';
import { copyOfProject } from '../support/project-copy.ts';
import { randomFrom } from '../support/random.ts';
import { areas } from './areas.ts';
import { type Mutant, plant } from './instrument.ts';

/**
 * `npm run mutations -- --area access --sample 60 --seed 1`: plants mutants in a copy of the project and counts those that the tests of the
 * area find. `--all`: every mutant. Survivors are printed unless `survivors.tsv` gives a reason.
 */
const { values } = parseArgs({
  options: {
    area: { type: 'string', multiple: true, default: Object.keys(areas) },
    sample: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    all: { type: 'boolean', default: false },
  },
});
/** A test file of the copy may take so many times as long as it took without a mutant. */
const PATIENCE = 5;
const LEAST_MS = 60_000;
const AT_ONCE = 2;
const WANTED = 0.85;

const tests = readdirSync(new URL('..', import.meta.url), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/node_modules|^bench/.test(file),
);
const reasons = readFileSync(new URL('survivors.tsv', import.meta.url), 'utf8')
  .split('\n')
  .map((line) => line.split('\t'));

interface TestFile {
  readonly name: string;
  readonly program: string;
  ms: number;
}

for (const name of values.area) await measure(name);

async function measure(name: string): Promise<void> {
  const area = areas[name];
  if (!area) throw new Error(`There is no area ${name}; there are ${Object.keys(areas).join(', ')}.`);
  const folder = copyOfProject();
  const mutants = await plant(folder, area.sources);
  const files = bundled(folder, area.tests);
  const reached = await inTurns(files, (file) => reachedBy(file, folder));
  const coverage = new Map<string, TestFile[]>();
  for (const [at, ids] of reached.entries())
    for (const id of ids) coverage.set(id, [...(coverage.get(id) ?? []), files[at] as TestFile]); // there is one for each
  const sample = values.all ? mutants : sampled(mutants, Number(values.sample), randomFrom(Number(values.seed)));
  let killed = 0;
  let excused = 0;
  await inTurns(sample, async (mutant) => {
    const by = coverage.get(mutant.id) ?? [];
    const found = await findFault(
      mutant,
      [...by].sort((one, other) => one.ms - other.ms),
    );
    if (found) killed += 1;
    else if (reasonOf(mutant)) excused += 1;
    const verdict = found ? 'found' : (reasonOf(mutant) ?? (by.length === 0 ? 'reached by no test' : 'survived'));
    const { file, line, kind, was, becomes } = mutant;
    if (!found)
      console.log([verdict, file, line, kind, was, becomes, by.map((each) => each.name).join(' ')].join('\t'));
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
      ...[`${(100 * score).toFixed(0)} %`, values.all ? 'all' : `seed ${values.seed}`],
    ].join('\t'),
  );
  if (!(score >= WANTED)) process.exitCode = 1;
}

function reasonOf({ file, was, becomes }: Mutant): string | undefined {
  return reasons.find((row) => row[0] === file && row[1] === was && row[2] === becomes)?.[3];
}

/** Bundles the test files and what they start; each has a program. */
function bundled(folder: string, parts: readonly string[]): TestFile[] {
  const names = tests.filter((file) => file.endsWith('.test.ts') && parts.some((part) => file.includes(part))).sort();
  const programs = tests.filter(
    (file) => file.includes('/') && !/\.(test|d)\.ts$|^mutants|^fuzz\/(run|loop)/.test(file),
  );
  const into = join(folder, 'bundle');
  const list = JSON.stringify({ tests: names, programs });
  const args = ['--import', 'tsx', join(folder, 'test/mutants/bundle.ts'), into, list];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The copy cannot be bundled: ${stderr}`);
  return names.map((name) => ({ name, program: join(into, `run-${name.replaceAll(/\W/g, '-')}.mjs`), ms: 0 }));
}

/** Runs the file without a mutant, and says which it reaches. One that fails so can judge nothing. */
async function reachedBy(file: TestFile, folder: string): Promise<string[]> {
  const notes = join(folder, 'reached', file.name.replaceAll(/\W/g, '-'));
  mkdirSync(notes, { recursive: true });
  const hook = new URL('reached.mjs', import.meta.url).href;
  const begun = performance.now();
  const passes = await run(file, { NODE_OPTIONS: `--import ${hook}`, REACHED_MUTANTS: notes }, 10 * LEAST_MS);
  file.ms = performance.now() - begun;
  if (!passes) console.log(`fails without a mutant\t${file.name}`);
  if (!passes) return [];
  return [...new Set(readdirSync(notes).flatMap((name) => JSON.parse(readFileSync(join(notes, name), 'utf8'))))];
}

async function findFault({ id }: Mutant, files: readonly TestFile[]): Promise<boolean> {
  for (const file of files) {
    const patience = Math.max(LEAST_MS, PATIENCE * file.ms);
    if (!(await run(file, { __STRYKER_ACTIVE_MUTANT__: id }, patience))) return true;
  }
  return false;
}

/** Whether all tests of the file pass in time. The first failure ends it. */
function run({ program }: TestFile, env: Readonly<Record<string, string>>, mostMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--test-reporter=tap', program], {
      env: { ...process.env, [BUNDLE]: join(program, '..'), TMPDIR: join(program, '../..'), ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true, // so that what it started ends with it
    });
    const end = () => {
      try {
        process.kill(-(child.pid ?? 0), 'SIGKILL');
      } catch {} // it ended by itself
    };
    const late = setTimeout(end, mostMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (/^\s*not ok /m.test(text)) end();
    });
    child.once('exit', (code) => {
      clearTimeout(late);
      end();
      resolve(code === 0);
    });
  });
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
