import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { opensStore, RUN_ONCE, runsOnPostgres } from './both-stores.ts';
import { filesBelow } from './files-below.ts';

const root = fileURLToPath(new URL('../../test', import.meta.url));
const files = filesBelow(root).filter((file) => file.endsWith('.test.ts'));
/** One store, whatever the run is on. */
const OF_ITS_OWN = /openLowdbStore|openPostgresStore|DuckRowStore|startMember|startCluster/;

describe('test files', () => {
  it('that open a store run on both, or are named with the reason why not', () => {
    const named = Object.values(RUN_ONCE).flat();
    assert.equal(new Set(named).size, named.length, 'each once');
    for (const file of named) assert.ok(files.includes(file) && opensStore(file), `${file} need not be named`);
    assert.ok(files.filter(runsOnPostgres).length > 150);
  });

  it('open the store of the run, unless they are about one of the stores', () => {
    const rest = files.filter((file) => !/^(store|support)\//.test(file));
    const others = rest.filter((file) => OF_ITS_OWN.test(readFileSync(join(root, file), 'utf8')));
    assert.deepEqual(
      others.filter((file) => runsOnPostgres(file) || !opensStore(file)),
      [],
    );
  });
});
