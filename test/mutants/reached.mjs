import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Loaded into each process of a test file, those that it starts too: notes which mutants it reached. */
process.on('exit', () => {
  const { static: reached = {} } = globalThis.__stryker__?.mutantCoverage ?? {};
  const path = join(process.env.REACHED_MUTANTS, `${process.pid}.json`);
  if (Object.keys(reached).length > 0) writeFileSync(path, JSON.stringify(Object.keys(reached)));
});
