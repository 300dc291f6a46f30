import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { reachOfCapsule } from '../../tools/core/access/capsule-principal.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import { reaches } from '../../tools/core/access/reach.ts';
import { scopeRights } from '../../tools/core/access/rights.ts';

/** The tools that keys with a coarse scope, and capsules with a glob, get without anybody naming them. */
const table = readFileSync(new URL('broad-reach.tsv', import.meta.url), 'utf8');
const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.split('\t'));

const [READ, WRITE] = [scopeRights(['read']), scopeRights(['write'])];
const whole = reachOfCapsule({ name: 'test', allowedTools: ['*'], deniedTools: [] }, catalog);

const reached = catalog.entries
  .map(({ tool }) => tool)
  .filter((tool) => isListed(tool) && !tool.discovery)
  .flatMap((tool) => {
    const scope = reaches({ rights: READ }, tool) ? 'read' : reaches({ rights: WRITE }, tool) ? 'write' : 'none';
    const glob = reaches(whole, tool) ? 'glob' : 'named';
    return scope === 'none' && glob === 'named' ? [] : [[tool.name, scope, glob]];
  });

const HINT =
  'A tool that keys with the scope read or write, or capsules with a glob, gain silently: let it need admin, or narrow it to the records of its caller; else enter it in broad-reach.tsv with the reason why all of them may have it.';

describe('the tools that existing keys and capsules reach by a broad scope or a glob', () => {
  it('are those of the table, each with its reason', () => {
    assert.deepEqual(
      reached.map((row) => row.join(' ')).sort(),
      rows.map(([tool, scope, glob]) => [tool, scope, glob].join(' ')).sort(),
      HINT,
    );
    for (const [tool, , , reason] of rows) assert.ok(reason && reason.length > 3, `${tool} has no reason`);
  });

  it('are by glob none that needs admin, however the glob is written', () => {
    const named = new Set(rows.filter(([, , glob]) => glob === 'glob').map(([tool]) => tool));
    for (const glob of ['list_*', 'get_*', '*_*', 'update*', '*s', '*']) {
      const reach = reachOfCapsule(
        { name: 'test', allowedTools: [glob, 'get_agent', 'get_record'], deniedTools: [] },
        catalog,
      );
      for (const { tool } of catalog.entries) {
        if (isListed(tool) && !tool.discovery && reaches(reach, tool))
          assert.ok(named.has(tool.name), `${glob}: ${tool.name}`);
      }
    }
  });
});
