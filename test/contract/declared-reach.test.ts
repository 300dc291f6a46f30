import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
import { reachOfCapsule } from '../../tools/core/access/capsule-principal.ts';
import { type Access, isListed } from '../../tools/core/access/guarded-tool.ts';
import { seesTool } from '../../tools/core/access/reach.ts';
import { scopeRights } from '../../tools/core/access/rights.ts';
import { GUEST_SCOPES, scopesSatisfy } from '../../tools/core/access/scopes.ts';
import { INPUT_LIMITS, inputLimitsOf } from '../../tools/core/registry/json-limits.ts';
import { unwrap } from '../../tools/core/registry/validate.ts';

/** Records say how many members they take in a check that no schema shows: 200 features, each with its events; others far fewer. */
const ofRecord = (value: unknown) => (value instanceof z.ZodArray ? 200 : 20);

/** The most members that a value of the schema can have, where the schema says so. */
function mostMembers(schema: unknown): number {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodPipe) return mostMembers(inner.in);
  if (inner instanceof z.ZodUnion) return Math.max(...inner.options.map(mostMembers));
  if (inner instanceof z.ZodRecord) return ofRecord(inner.valueType) * (1 + mostMembers(inner.valueType));
  if (inner instanceof z.ZodArray) {
    const items = z.toJSONSchema(inner, { unrepresentable: 'any', io: 'input' }).maxItems ?? 0;
    const ofRows = inner.element instanceof z.ZodRecord; // of `import_records`: at most 50 properties in a row of 7 members
    return items * (1 + (ofRows ? 57 : mostMembers(inner.element)));
  }
  if (!(inner instanceof z.ZodObject)) return 0;
  return Object.values(inner.shape).reduce((sum, member) => sum + 1 + mostMembers(member), 0);
}

describe('the members of an input', () => {
  it('are no more than its tool may be sent', () => {
    for (const { tool } of catalog.entries) {
      assert.ok(
        mostMembers(tool.input) <= inputLimitsOf(tool).members,
        `${tool.name} takes ${mostMembers(tool.input)}`,
      );
    }
  });

  it('are many only where a tool takes bulk data', () => {
    const bulk = catalog.entries.filter(({ tool }) => tool.bulk).map(({ tool }) => tool.name);
    assert.deepEqual(bulk.sort(), ['call_tool', 'import_records', 'invoke_agent', 'update_settings']);
    const needing = catalog.entries.filter(({ tool }) => mostMembers(tool.input) > INPUT_LIMITS.members);
    assert.deepEqual(needing.map(({ tool }) => tool.name).sort(), [
      'import_records',
      'invoke_agent',
      'update_settings',
    ]);
  });
});

/** Tools that change something by a right to read, or by none, with the reason: each concerns what is the caller's own alone. */
const OWN: Readonly<Record<string, string>> = {
  create_session: 'its input shows who signs in, and the session is theirs',
  confirm_session: 'it confirms the session with which it is called',
  delete_session: 'it ends the session with which it is called',
  authorize_app: 'who is signed in lets an app act for them, within their rights',
  connect_integration: 'its link opens for the caller alone, signed in, and changes nothing before',
  call_tool: 'it does nothing but call another tool, which asks for its own right',
};

const changing = catalog.entries.map(({ tool }) => tool).filter(({ annotations }) => !annotations.readOnlyHint);

/** Whether who may only read has the right, by scope or by grant. */
function isReading({ scope, grant }: Access): boolean {
  const grants = [grant].flat().map((text) => text.split(':')[1]);
  return scope === '' || scopesSatisfy(['read'], scope) || grants.every((op) => op === 'read');
}

describe('a tool that changes something', () => {
  for (const { name, access } of changing) {
    it(`asks for a right to write: ${name}`, () => {
      const choices: readonly Access[] = 'among' in access ? access.among : [access];
      assert.equal(
        choices.some(isReading),
        Object.hasOwn(OWN, name),
        'a right to read, unless it is listed with its reason',
      );
    });
  }

  it('is in the list only while there is such a tool', () => {
    const names = changing.map(({ name }) => name);
    assert.deepEqual(
      Object.keys(OWN).filter((name) => !names.includes(name)),
      [],
    );
  });

  it('asks for a right to write where it belongs to an integration', () => {
    assert.ok(!scopesSatisfy(['read'], GUEST_SCOPES.writes));
  });
});

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
    const scope = seesTool({ rights: READ }, tool) ? 'read' : seesTool({ rights: WRITE }, tool) ? 'write' : 'none';
    const glob = seesTool(whole, tool) ? 'glob' : 'named';
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
        if (isListed(tool) && !tool.discovery && seesTool(reach, tool))
          assert.ok(named.has(tool.name), `${glob}: ${tool.name}`);
      }
    }
  });
});
