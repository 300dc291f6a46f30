import assert from 'node:assert/strict';
import { it } from 'node:test';
import OpenAI from 'openai';
import { callsOf, makeKey } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must } = callsOf(server);
const NAMES = ['ada', 'bob', 'eve', 'old'] as const;
const ids = new Map<string, string>();
for (const name of NAMES) ids.set(name, (await must('create_agent', { name, displayName: name })).id);
await must('update_agent', { id: 'old', status: 'paused' });

const some = fc.uniqueArray(fc.constantFrom(...NAMES));
const rights = fc.record({ read: some, readsAll: fc.boolean(), invoke: some, byId: fc.boolean() });

it('a caller sees and reaches exactly the agents in the form of OpenAI that invoke_agent would take', async () => {
  await fc.assert(
    fc.asyncProperty(rights, async ({ read, readsAll, invoke, byId }) => {
      const reads = readsAll ? ['agent:read'] : read.map((name) => `agent:read:${name}`);
      const invokes = invoke.map((name) => `agent:invoke:${byId ? ids.get(name) : name}`);
      const grants = [...reads, ...invokes];
      if (grants.length === 0) return;
      const apiKey = await makeKey(server, { grants });
      const client = new OpenAI({ apiKey, baseURL: `${server.baseUrl}/api/v1/openai`, maxRetries: 0 });
      const invoked = NAMES.filter((name) => name !== 'old' && invoke.includes(name));
      const seen = invoked.filter((name) => readsAll || read.includes(name));
      const listed = await client.models.list().then(
        ({ data }) => pluck(data, 'id').sort(),
        (error) => assert.ok(error instanceof OpenAI.PermissionDeniedError) ?? [],
      );
      assert.deepEqual(listed, seen);
      for (const name of NAMES) {
        const asked = provider.requests.length;
        const isReached = await client.chat.completions
          .create({ model: name, messages: [{ role: 'user', content: 'Hi' }] })
          .then(
            () => true,
            (error) =>
              error instanceof OpenAI.NotFoundError || error instanceof OpenAI.PermissionDeniedError
                ? false
                : assert.fail(error),
          );
        assert.deepEqual(
          [isReached, provider.requests.length - asked],
          [invoked.includes(name), isReached ? 1 : 0],
          name,
        );
      }
    }),
    { numRuns: rounds(15, 150) },
  );
});
