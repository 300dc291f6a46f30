import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../../facade/launch/bundle.ts';
import type { Work } from '../support/file-suite.ts';

/** Runs in the copy: bundles the test files, and writes a program for each that runs it alone. */
const [folder = '', list = ''] = process.argv.slice(2);
const { tests, programs } = JSON.parse(list) as { readonly tests: string[]; readonly programs: string[] };
await bundle(
  [...programs, ...tests].map((file) => `test/${file}`),
  folder,
  ['playwright-core', 'gpt-tokenizer', 'esbuild', 'typescript'],
);
for (const name of tests) {
  const taken = join(folder, 'taken', name.replaceAll(/\W/g, '-'));
  mkdirSync(taken, { recursive: true });
  const path = join(folder, 'test', name).replace(/\.ts$/, '.mjs');
  const work: Work = {
    own: [{ name, path }],
    queue: [],
    most: 0,
    taken,
    costs: join(taken, 'costs'),
    timeoutMs: 300_000,
  };
  const program = join(folder, `run-${name.replaceAll(/\W/g, '-')}.mjs`);
  writeFileSync(
    program,
    `import { runFiles } from './test/support/file-suite.mjs';\nrunFiles(${JSON.stringify(work)});`,
  );
}
