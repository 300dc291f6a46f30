import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { callsOf } from '../../support/calls.ts';
import { startTestServer } from '../../support/server.ts';
import { until } from '../../support/until.ts';
import { connectHttp, guestNames, startUpstream, toolCalled } from '../../support/upstream.ts';

const [server, fake] = await Promise.all([startTestServer(), startUpstream(toolCalled('look'))]);

/** The upstream answers a list only when its session is ended, and the end of the session a moment later. */
function listLate(): { readonly asked: () => boolean } {
  let answer = () => {};
  let asked = false;
  const ending = new Promise<void>((resolve) => {
    answer = resolve;
  });
  fake.intercept = async (request, _, { method }) => {
    if (method === 'tools/list') {
      asked = true;
      await ending;
    }
    if (request.method === 'DELETE') {
      answer();
      await setTimeout(300);
    }
    return false;
  };
  return { asked: () => asked };
}

describe('tools that are listed while their integration goes', () => {
  it('are not offered any more', async () => {
    fake.intercept = (_, response, { method }) => {
      if (method === 'initialize') response.setHeader('mcp-session-id', 'one');
      return false;
    };
    const { id } = await connectHttp(server, fake.url);
    assert.deepEqual(await guestNames(server), ['fake__look']);
    const { asked } = listLate();
    const { must } = callsOf(server);
    const refreshing = must('refresh_integration', { id }).catch(() => {}); // it may be gone when the list comes
    await until(asked);
    await must('delete_integration', { id });
    await refreshing;
    assert.deepEqual(await guestNames(server), []);
  });
});
