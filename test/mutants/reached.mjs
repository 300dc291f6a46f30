import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';

/** Loaded into each process and thread of a test file, those that it starts too: notes which mutants it reached, often, as many are killed. */
const path = join(process.env.REACHED_MUTANTS, `${process.pid}-${threadId}.json`);
const OFTEN_MS = 200;
let noted = 0;

function note() {
  const reached = Object.keys(globalThis.__stryker__?.mutantCoverage?.static ?? {});
  if (reached.length === noted) return;
  noted = reached.length;
  writeFileSync(`${path}.part`, JSON.stringify(reached));
  renameSync(`${path}.part`, path);
}

setInterval(note, OFTEN_MS).unref();
process.on('exit', note);
