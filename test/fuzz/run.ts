import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Progress } from './loop.ts';
import { targets } from './targets.ts';

/**
 * `npm run fuzz -- <target>... --seconds 60 --seed 1`: feeds each target for so long in a process of its own, says what came of it, and adds
 * what it found to `corpus/`. Exits with 1 where there was a defect, and where nothing ran.
 */
const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: String(Date.now() % 1e6) } },
  allowPositionals: true,
});
const SILENT_MS = 60_000;
const MEGABYTES = 1024;
const folder = mkdtempSync(join(tmpdir(), 'agent-admin-fuzz-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
const names = positionals.length > 0 ? positionals : Object.keys(targets);
const unknown = names.filter((name) => !Object.hasOwn(targets, name));
if (unknown.length > 0) {
  console.error(`There is no target ${unknown.join(', ')}; there are ${Object.keys(targets).join(', ')}.`);
  process.exit(2);
}
for (const name of names) await fuzz(name);

function fuzz(name: string): Promise<void> {
  const current = join(folder, `${name}.json`);
  const child = fork(fileURLToPath(new URL('loop.ts', import.meta.url)), [name, values.seconds, values.seed, current], {
    execArgv: [`--max-old-space-size=${MEGABYTES}`, '--import', 'tsx'],
    env: { ...process.env, TMPDIR: folder },
  });
  let last: Progress = { inputs: 0, blocks: 0, corpus: 0, finds: [] };
  let silent: NodeJS.Timeout;
  const heard = () => {
    clearTimeout(silent);
    silent = setTimeout(() => child.kill('SIGKILL'), SILENT_MS);
  };
  heard();
  child.on('message', (said: Progress) => {
    last = said;
    heard();
  });
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      clearTimeout(silent);
      const { inputs, blocks, corpus, finds } = last;
      console.log(
        [
          name,
          `seed ${values.seed}`,
          `${inputs} inputs`,
          `${blocks} blocks`,
          `${corpus} kept`,
          `${finds.length} finds`,
        ].join('\t'),
      );
      if (code !== 0) {
        // An endless loop or too much memory: the inputs that ran then say which.
        console.error(
          `${name} ended with ${signal ?? code} during:\n${readFileSync(current, 'utf8').slice(0, 20_000)}`,
        );
      }
      if (code !== 0 || finds.length > 0 || inputs === 0) process.exitCode = 1;
      resolve();
    });
  });
}
