import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callsOf } from '../../support/calls.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { callRaw, connectProgram, errorOfCall, withProgram } from '../../support/upstream.ts';

const server = await startTestServer();
const { must } = callsOf(server);

describe('a program', () => {
  it('that ends during a call fails that call alone, and is there again soon', async () => {
    await withProgram(server, [], async (id) => {
      const { pid } = JSON.parse((await callRaw(server, 'program__pid')).content[0].text);
      const { code, error } = await errorOfCall(server, 'program__crash');
      assert.equal(code, 'unavailable');
      assert.match(error, /may have been carried out/);
      await until(async () => (await must('get_integration', { id })).status.state === 'connected');
      const again = JSON.parse((await callRaw(server, 'program__pid')).content[0].text);
      assert.notEqual(again.pid, pid);
    });
  });

  it('that ends over and over is tried less and less often, and its tools say that it is away', async () => {
    const { id, status } = await connectProgram(server, ['x'], {
      name: 'Broken',
      args: ['-e', 'console.error("no licence: " + process.env.TOKEN); process.exit(1)'],
      env: { TOKEN: 'hunter2hunter2' },
    });
    assert.equal(status.state, 'unavailable');
    assert.match(status.lastOutput, /no licence: \[redacted\]/);
    const { integrations } = await must('get_system_health');
    assert.ok(!JSON.stringify(integrations).includes('licence'), 'what it wrote is for those who manage it');
    const delays = new Set<number>();
    const deadline = Date.now() + 6000;
    while (Date.now() < deadline) {
      const { retryAt, since } = (await must('get_integration', { id })).status;
      if (retryAt) delays.add(Math.round((Date.parse(retryAt) - Date.parse(since)) / 100));
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.ok(delays.size >= 2 && delays.size < 8, [...delays].join());
    assert.ok(Math.max(...delays) > 10, [...delays].join());
    await must('delete_integration', { id });
  });

  it('gets PATH, HOME and its own variables, and nothing of the server', async () => {
    process.env.SERVER_SECRET = 'of-the-server';
    await withProgram(
      server,
      ['chatty'],
      async () => {
        const { content } = await callRaw(server, 'program__env');
        assert.deepEqual(JSON.parse(content[0].text), { PATH: process.env.PATH, HOME: process.env.HOME, OWN: 'own' });
      },
      { env: { OWN: 'own' } },
    );
    delete process.env.SERVER_SECRET;
  });

  it('of an older revision that ends at the unknown is spoken to in its own', async () => {
    await withProgram(server, ['legacy-exit'], async (id) => {
      assert.equal((await must('get_integration', { id })).status.protocolVersion, '2024-11-05');
      assert.equal((await callRaw(server, 'program__echo', { text: 'hi' })).content[0].text, 'hi');
    });
  });

  it('that writes a line without end is ended', async () => {
    await withProgram(
      server,
      [],
      async (id) => {
        const { pid } = JSON.parse((await callRaw(server, 'program__pid')).content[0].text);
        const { code } = await errorOfCall(server, 'program__endless');
        assert.equal(code, 'unavailable');
        await until(async () => {
          const answer = await callRaw(server, 'program__pid');
          return !answer.isError && JSON.parse(answer.content[0].text).pid !== pid;
        });
        assert.equal((await must('get_integration', { id })).status.state, 'connected');
      },
      { timeoutMs: 20_000 },
    );
  });
});
