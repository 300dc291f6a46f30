import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { routes } from '../../facade/routes.ts';
import { catalog } from '../../tools/catalog.ts';
import { grantNames } from '../../tools/core/access/assignable.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { COMMON_ERRORS } from '../../tools/core/errors.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { jsonSchema } from '../../tools/core/registry/json-schema.ts';
import { inputFor } from './inputs.ts';
import { operations, toolsWithoutPath } from './operations-table.ts';

const tools = catalog.entries.map(({ tool }) => tool);

/** Scope and grants of a tool whose right does not depend on its input. */
function rights({ access }: Pick<Tool, 'access'>): { scope: string; grant: string } {
  assert.ok(!('among' in access));
  if (access === ANYONE) return { scope: '-', grant: '-' };
  return { scope: access.scope, grant: [access.grant].flat().join(', and ') };
}

describe('every tool', () => {
  for (const tool of tools) {
    it(`${tool.name} has a name, a title and a description that serve a model`, () => {
      assert.match(tool.name, /^(search|[a-z]+(_[a-z]+)+)$/);
      assert.match(tool.title, /^[A-Z]/);
      assert.ok(
        tool.description.length >= 30 && tool.description.length <= 300,
        `${tool.description.length} characters`,
      );
      assert.match(tool.description, /\.$/);
    });

    it(`${tool.name} can be said in JSON Schema, with object roots and a strict input`, () => {
      const input = jsonSchema(tool.input, 'input');
      assert.equal(input.type, 'object');
      assert.equal(input.additionalProperties, false);
      assert.equal(jsonSchema(tool.output, 'output').type, 'object');
    });

    it(`${tool.name} gives all four hints, and none that contradict`, () => {
      const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = tool.annotations;
      for (const hint of [readOnlyHint, destructiveHint, idempotentHint, openWorldHint])
        assert.equal(typeof hint, 'boolean');
      if (readOnlyHint) assert.deepEqual([destructiveHint, idempotentHint], [false, true]);
      if (/^(list|get|search|diff|check|describe|preview|explain)_/.test(tool.name)) assert.equal(readOnlyHint, true);
      if (/^(delete|revoke|purge)_/.test(tool.name)) assert.equal(destructiveHint, true);
    });

    it(`${tool.name} declares no error twice and none that every tool has`, () => {
      assert.equal(new Set(tool.errors).size, tool.errors.length);
      for (const code of tool.errors) assert.ok(!(COMMON_ERRORS as readonly string[]).includes(code), code);
      if ('expectedRevision' in tool.input.shape) assert.ok(tool.errors.includes('conflict'));
    });

    it(`${tool.name} is guarded where it changes a record that has a revision, and paged where it lists`, () => {
      const takes = Object.keys(tool.input.shape);
      const gives = Object.keys(tool.output.shape);
      if (tool.name.startsWith('update_')) assert.ok(takes.includes('expectedRevision'));
      if (tool.name.startsWith('list_')) assert.deepEqual(gives.slice(0, 2), ['data', 'nextCursor']);
      if (gives.includes('data') && takes.includes('limit') && tool.name !== 'search_tools') {
        assert.ok(takes.includes('cursor') && gives.includes('nextCursor'), 'whoever limits a list can read on');
      }
      if (!takes.includes('cursor') || /^search(_passages)?$/.test(tool.name)) return;
      assert.ok(takes.includes('limit') && takes.includes('includeTotal') && gives.includes('total'));
    });

    it(`${tool.name} asks for grants that can be given and members that it takes`, () => {
      const choices = 'among' in tool.access ? tool.access.among : [tool.access];
      for (const { grant: text, fullAccess } of choices.flatMap((choice) =>
        [choice.grant].flat().map((grant) => ({ ...choice, grant })),
      )) {
        const [resource = '', op = '', id] = text.split(':');
        assert.ok(fullAccess || grantNames(catalog).get(resource)?.has(op), text);
        if (id?.startsWith('{')) assert.ok(id.slice(1, -1) in tool.input.shape, `${text}: no such member`);
      }
    });
  }
});

describe('the table of operations', () => {
  it('has 85 lines', () => assert.equal(operations.length, 85));

  for (const { method, path, tool: name, scope, grant, status, group } of operations) {
    const entry = catalog.get(name);
    if (!entry) continue;
    it(`${method} ${path} is a route to ${name} with the right scope, grant, status and group`, () => {
      const route = routes.find((candidate) => candidate.method === method && candidate.path === path);
      assert.deepEqual({ tool: route?.tool, status: route?.status }, { tool: name, status });
      assert.equal(entry.group, group);
      if (!('among' in entry.tool.access)) assert.deepEqual(rights(entry.tool), { scope, grant });
      if (method === 'GET') assert.equal(entry.tool.annotations.readOnlyHint, true);
      else assert.equal(entry.tool.annotations.readOnlyHint, false);
      if (method === 'DELETE') assert.equal(entry.tool.annotations.destructiveHint, true);
    });
  }

  it('has a line for every route, in its order', () => {
    const lines = operations.map(({ method, path }) => `${method} ${path}`);
    const places = routes.map(({ method, path }) => lines.indexOf(`${method} ${path}`));
    assert.ok(!places.includes(-1));
    assert.deepEqual(
      places,
      [...places].sort((a, b) => a - b),
    );
  });

  it('knows every tool, or the table of tools without a path does', () => {
    const withPath = new Set(operations.map(({ tool }) => tool));
    for (const tool of tools) {
      if (withPath.has(tool.name)) continue;
      const { access } = tool;
      const expected = toolsWithoutPath[tool.name];
      // Of a tool whose right depends on its input, the table has that of the input in the matrix of rights.
      const found = rights({ access: 'among' in access ? access.of(inputFor(tool.name)) : access });
      assert.deepEqual(found, expected, tool.name);
    }
  });
});
