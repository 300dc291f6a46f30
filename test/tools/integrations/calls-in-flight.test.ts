import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { callsOf, makeCapsule, rest } from '../../support/calls.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { connectHttp, startUpstream, toolCalled } from '../../support/upstream.ts';

let id: string;
/** Calls that the upstream holds, and those of them whose connection was closed. */
const held = { begun: 0, closed: 0 };

const [server, fake] = await Promise.all([startTestServer(), startUpstream(toolCalled('look'), toolCalled('act'))]);
const { call } = callsOf(server);
fake.intercept = (_, response, message) => {
  if (message.method !== 'tools/call') return false;
  held.begun += 1;
  response.on('close', () => {
    held.closed += 1;
  });
  return true;
};
afterEach(async () => {
  await callsOf(server)
    .must('delete_integration', { id })
    .catch(() => {});
});

type Calling = (tool: string) => Promise<{ readonly error?: { readonly code: string; readonly error: string } }>;

/** A call that would go on for minutes; the error it ends with once that happens. */
async function endedBy(calling: Calling, tool: string, what: () => Promise<unknown>) {
  const before = { ...held };
  const answer = calling(tool);
  await until(async () => held.begun > before.begun);
  await what();
  const { error } = await answer;
  await until(async () => held.closed > before.closed);
  return error ?? assert.fail('the call did not fail');
}

async function connect() {
  fake.tools = [toolCalled('look'), toolCalled('act')];
  const made = await connectHttp(server, fake.url, { name: 'gh', readOnlyTools: ['look'], timeoutMs: 600_000 });
  id = made.id;
}

const withKey =
  (key: string): Calling =>
  async (tool) =>
    call(tool, {}, key) as ReturnType<Calling>;

describe('a call of an integration that is under way', () => {
  const { must } = { must: (tool: string, input: object) => callsOf(server).must(tool, input) };

  for (const tool of ['gh__look', 'gh__act']) {
    it(`ends with its key (${tool}), also through call_tool`, async () => {
      await connect();
      const byName =
        (key: string): Calling =>
        async (name) =>
          call('call_tool', { name }, key) as ReturnType<Calling>;
      for (const calling of [withKey, byName]) {
        const key = await must('create_api_key', { name: 'k', scopes: ['write'] });
        const error = await endedBy(calling(key.secret), tool, () => must('revoke_api_key', { id: key.id }));
        assert.equal(error.code, 'unauthenticated');
        assert.match(error.error, /revoked/);
      }
    });

    it(`ends with the integration (${tool})`, async () => {
      await connect();
      const disabled = await endedBy(withKey(server.adminKey), tool, () =>
        must('update_integration', { id, enabled: false }),
      );
      assert.equal(disabled.code, 'unavailable');
      assert.match(disabled.error, /was disabled, changed or deleted while the call was under way/);
      await must('update_integration', { id, enabled: true });
      await must('refresh_integration', { id });
      await endedBy(withKey(server.adminKey), tool, () => must('delete_integration', { id }));
    });

    it(`ends when its tool is not offered any more as it was (${tool})`, async () => {
      await connect();
      const changed = await endedBy(withKey(server.adminKey), tool, async () => {
        fake.tools = [toolCalled('look', { description: 'x' }), toolCalled('act', { description: 'x' })];
        await must('refresh_integration', { id });
      });
      assert.match(changed.error, /stopped offering this tool as it was/);
    });
  }

  it('goes on where another tool of it changes', async () => {
    await connect();
    const before = { ...held };
    const answer = withKey(server.adminKey)('gh__look');
    await until(async () => held.begun > before.begun);
    fake.tools = [toolCalled('look'), toolCalled('act', { description: 'other' })];
    await must('refresh_integration', { id });
    await must('update_integration', { id, name: 'other name', timeoutMs: 500_000 });
    assert.equal(held.closed, before.closed);
    await must('delete_integration', { id });
    assert.ok((await answer).error);
  });

  it('ends when it is marked as one that acts, for those who may only read', async () => {
    await connect();
    const { secret } = await must('create_api_key', { name: 'r', scopes: ['tools:read'] });
    const error = await endedBy(withKey(secret), 'gh__look', () =>
      must('update_integration', { id, readOnlyTools: [] }),
    );
    assert.match(error.error, /stopped offering/);
  });

  it('ends with the list of its capsule, and with its owner', async () => {
    await connect();
    const capsule = await makeCapsule(server, { allowedTools: ['gh__look'] });
    const calling: Calling = async (name) => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } };
      const answer = await rest(server, 'POST', `/api/capsules/${capsule.id}/mcp`, { key: capsule.token, body });
      return { error: JSON.parse(answer.body.result.content[0].text) };
    };
    const narrowed = await endedBy(calling, 'gh__look', () =>
      must('update_capsule', { id: capsule.id, deniedTools: ['gh__*'] }),
    );
    assert.equal(narrowed.code, 'forbidden');
    await must('update_capsule', { id: capsule.id, deniedTools: [] });
    await endedBy(calling, 'gh__look', () => must('update_capsule', { id: capsule.id, status: 'disabled' }));
  });

  it('ends where a report made it, at the REST door', async () => {
    await connect();
    const key = await must('create_api_key', { name: 'k', scopes: ['read'] });
    const report = await must('create_report', { title: 'r', query: { tool: 'gh__look' } });
    const calling: Calling = async () => {
      const { body } = await rest(server, 'GET', `/api/v1/reports/${report.id}?render=true`, { key: key.secret });
      return { error: { ...body, error: String(body.error) } };
    };
    const error = await endedBy(calling, 'gh__look', () => must('revoke_api_key', { id: key.id }));
    assert.equal(error.code, 'unauthenticated');
  });

  it('ends where a flow made it, when whom the flow acts for is gone', async () => {
    await connect();
    const key = await must('create_api_key', { name: 'k', scopes: ['write'] });
    const steps = [{ id: 'a', tool: 'gh__look', arguments: {} }];
    const flow = await callsOf(server).must('create_flow', { name: 'f', steps }, key.secret);
    const calling: Calling = async () => {
      const run = await must('trigger_flow', { id: flow.id, wait: true });
      return run.status === 'failed' ? { error: { code: run.error.code, error: run.error.message } } : {};
    };
    const error = await endedBy(calling, 'gh__look', () => must('revoke_api_key', { id: key.id }));
    assert.match(error.error, /revoked/);
  });
});
