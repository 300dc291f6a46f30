import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Mutation, mutated, mutations } from './support/mutations.ts';
import { copyOfProject } from './support/project-copy.ts';
import { isLimit } from './support/until.ts';

/**
 * Plants each fault of `mutations.json` in a copy of the project, one at a time, and runs the test that must fail then. With arguments, only
 * those whose name contains one of them. With `RESULTS=file`, each verdict is added to the file at once, and what has one there is not run
 * again. Exits with 1 unless every fault is found.
 *
 * - found: a test failed, and not for want of time
 * - timed out: nothing else failed than what waited for too long
 * - survived: no test failed
 * - not run: no test began, as where the fault does not compile
 * - broken: the test also fails without the fault
 */
type Verdict = 'found' | 'timed out' | 'survived' | 'not run' | 'broken';

const TIMEOUT_MS = 10 * 60 * 1000;
const MOST_WHY = 200;
const { RESULTS } = process.env;
const wanted = process.argv.slice(2);
const chosen = mutations.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const known = new Map(
  RESULTS && existsSync(RESULTS)
    ? readFileSync(RESULTS, 'utf8')
        .split('\n')
        .map((line) => [line.split('\t')[1], line.split('\t')[0]])
    : [],
);

const folder = copyOfProject();
const failures = join(folder, 'failures.tsv');

const passing = new Map<string, boolean>();
let found = 0;
for (const mutation of chosen) {
  const verdict = known.get(mutation.name) ?? judged(mutation);
  if (verdict === 'found') found += 1;
}
console.log(`${found} of ${chosen.length} planted faults were found.`);
process.exitCode = found < chosen.length || chosen.length === 0 ? 1 : 0;

function judged(mutation: Mutation): Verdict {
  const path = join(folder, mutation.file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(text, mutation));
  let { verdict, why } = run(mutation);
  writeFileSync(path, text);
  if (verdict !== 'survived' && !passesWithout(mutation)) verdict = 'broken';
  const line = [verdict, mutation.name, mutation.test, why].join('\t');
  console.log(line);
  if (RESULTS) appendFileSync(RESULTS, `${line}\n`);
  return verdict;
}

function passesWithout(mutation: Mutation): boolean {
  const key = `${mutation.store} ${mutation.test}`;
  const passes = passing.get(key) ?? run(mutation).verdict === 'survived';
  passing.set(key, passes);
  return passes;
}

/** Runs the test on the copy as it is. */
function run({ test, store }: Mutation): { verdict: Verdict; why: string } {
  writeFileSync(failures, '');
  const { status } = spawnSync(process.execPath, ['--import', 'tsx', 'test/run.ts', test], {
    cwd: folder,
    env: { ...process.env, FAILURES: failures, ...(store && { TEST_STORE: store }) },
    stdio: 'ignore',
    timeout: TIMEOUT_MS,
  });
  if (status === 0) return { verdict: 'survived', why: '' };
  const failed = readFileSync(failures, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  // A suite fails because a test in it does.
  const causes = failed.filter(([, type]) => type && !['subtestsFailed', 'cancelledByParent'].includes(type));
  const real = causes.find(([, type, message = '']) => type !== 'testTimeoutFailure' && !isLimit(message));
  const verdict = real ? 'found' : causes.length > 0 || status === null ? 'timed out' : 'not run';
  return { verdict, why: (real ?? causes[0] ?? []).join(': ').slice(0, MOST_WHY) };
}
