import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { catalog } from '../../tools/catalog.ts';
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
    assert.deepEqual(bulk.sort(), ['call_tool', 'import_records', 'update_settings']);
    const needing = catalog.entries.filter(({ tool }) => mostMembers(tool.input) > INPUT_LIMITS.members);
    assert.deepEqual(needing.map(({ tool }) => tool.name).sort(), ['import_records', 'update_settings']);
  });
});
