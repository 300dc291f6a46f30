import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { callTool, mustCall } from '../../support/calls.ts';
import { startProcess, withFolder } from '../../support/child.ts';
import { nodeArgs } from '../../support/node-args.ts';
import type { TestServer } from '../../support/server.ts';
import { envOfStore, onPostgres } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { callRaw, connectProgram, guestNames, isRunning, PROGRAM } from '../../support/upstream.ts';

const adminKey = `ak_lifetime_${'k'.repeat(40)}`;

/** A server in a process of its own with an integration of the program, and the processes that this has. */
async function withPrograms(
  args: readonly string[],
  work: (parts: {
    server: Awaited<ReturnType<typeof startProcess>>;
    id: string;
    pids: number[];
    reached: TestServer;
  }) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const server = await startProcess(folder, { BOOTSTRAP_API_KEY: adminKey });
    // Of a test server, what the calls below look at.
    const reached = { baseUrl: server.baseUrl, adminKey } as TestServer;
    try {
      const { id } = await connectProgram(reached, args);
      const { pid, child } = JSON.parse((await callRaw(reached, 'program__pid')).content[0].text);
      await work({ server, id, pids: [pid, ...(child ? [child] : [])], reached });
    } finally {
      await server.stop('SIGKILL');
    }
  });
}

const gone = (pids: readonly number[]) => until(() => !pids.some(isRunning));

describe('no program outlives', () => {
  it('a server that is asked to stop, be it as stubborn as it may, with children of its own', () =>
    withPrograms(['stubborn', 'parent'], async ({ server, pids }) => {
      assert.equal(pids.length, 2);
      assert.equal(await server.stop('SIGTERM'), 0);
      await gone(pids);
    }));

  it('a server that is killed', () =>
    withPrograms(['stubborn', 'parent'], async ({ server, pids }) => {
      await server.stop('SIGKILL');
      await gone(pids);
    }));

  it('its integration: deleted, disabled or another one', () =>
    withPrograms(['stubborn', 'parent'], async ({ reached, id, pids }) => {
      const change = (tool: string, input: object) => mustCall(reached, adminKey, tool, { id, ...input });
      await change('update_integration', { args: nodeArgs(PROGRAM) });
      await gone(pids);
      await until(async () => !(await callRaw(reached, 'program__pid')).isError);
      const { pid } = JSON.parse((await callRaw(reached, 'program__pid')).content[0].text);
      await change('update_integration', { enabled: false });
      await gone([pid]);
      await change('update_integration', { enabled: true });
      await until(async () => !(await callRaw(reached, 'program__pid')).isError);
      const last = JSON.parse((await callRaw(reached, 'program__pid')).content[0].text);
      await change('delete_integration', {});
      await gone([last.pid]);
      assert.deepEqual(await guestNames(reached), []);
    }));
});

it('an integration that becomes another one while it is asked for its tools is the other one', () =>
  withPrograms(['stubborn', 'parent'], async ({ reached, id, pids }) => {
    let isChanged = false;
    const changed = mustCall(reached, adminKey, 'update_integration', { id, args: nodeArgs(PROGRAM) }).finally(() => {
      isChanged = true;
    });
    await until(async () => {
      await callTool(reached, adminKey, 'refresh_integration', { id });
      return isChanged;
    });
    await changed;
    await gone(pids);
    await until(async () => !(await callRaw(reached, 'program__pid')).isError);
    const { child } = JSON.parse((await callRaw(reached, 'program__pid')).content[0].text);
    assert.equal(child, undefined); // which only the one before has
  }));

describe('a server that starts again', () => {
  it('has its integrations as they were, and offers their tools before they are connected', async () => {
    await withFolder(async (folder) => {
      const first = await startProcess(folder, { BOOTSTRAP_API_KEY: adminKey });
      const before = { baseUrl: first.baseUrl, adminKey } as TestServer; // what the calls below look at
      const { id } = await connectProgram(before, [], { env: { TOKEN: 'hunter2hunter2' } });
      const names = await guestNames(before);
      assert.equal(await first.stop('SIGTERM'), 0);
      const second = await startProcess(folder);
      const after = { baseUrl: second.baseUrl, adminKey } as TestServer; // as above
      assert.deepEqual(await guestNames(after), names);
      const { content } = await callRaw(after, 'program__env');
      assert.match(content[0].text, /"TOKEN":"\[redacted\]"/);
      assert.equal(await second.stop('SIGTERM'), 0);
      const next = Buffer.alloc(32, 2).toString('base64');
      const kept = envOfStore.SECRETS_KEY ?? readFileSync(join(folder, 'secrets.key'), 'utf8').trim();
      const between = await startProcess(folder, { SECRETS_KEY: `${next},${kept}` });
      assert.equal(await between.stop('SIGTERM'), 0);
      const renewed = await startProcess(folder, { SECRETS_KEY: next });
      const rotated = { baseUrl: renewed.baseUrl, adminKey } as TestServer; // as above
      assert.match((await callRaw(rotated, 'program__env')).content[0].text, /"TOKEN":"\[redacted\]"/);
      assert.equal(await renewed.stop('SIGTERM'), 0);
      const wrong = { SECRETS_KEY: Buffer.alloc(32, 1).toString('base64') };
      // There, what all processes share is sealed with it too.
      if (onPostgres) return assert.rejects(startProcess(folder, wrong), /SECRETS_KEY/);
      const third = await startProcess(folder, wrong);
      const other = { baseUrl: third.baseUrl, adminKey } as TestServer; // as above
      await until(
        async () => (await mustCall(other, adminKey, 'get_integration', { id })).status.state === 'unavailable',
      );
      const { status } = await mustCall(other, adminKey, 'get_integration', { id });
      assert.match(status.lastError, /env\.TOKEN cannot be read.*sealed with the key [0-9a-f]{8}.*SECRETS_KEY/);
      const away = await callTool(other, adminKey, 'program__pid');
      assert.equal('error' in away && away.error.code, 'unavailable');
      await third.stop('SIGTERM');
    });
  });
});
