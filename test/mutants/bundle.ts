import { bundle } from '../../facade/launch/bundle.ts';

/** Runs in the copy: bundles the test files and what they start. */
const [folder = '', list = ''] = process.argv.slice(2);
const { tests, programs } = JSON.parse(list) as { readonly tests: string[]; readonly programs: string[] };
await bundle(
  [...programs, ...tests].map((file) => `test/${file}`),
  folder,
  ['playwright-core', 'gpt-tokenizer', 'esbuild', 'typescript'],
);
