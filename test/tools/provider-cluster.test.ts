import assert from 'node:assert/strict';
import { it } from 'node:test';
import { callTool, mustCall } from '../support/calls.ts';
import { startCluster } from '../support/cluster.ts';
import { startModelServer } from '../support/model-server.ts';
import { until } from '../support/until.ts';

const far = await startModelServer(['tiny']);
const cluster = await startCluster({ PRIVATE_UPSTREAMS: 'on' });
const [first, second] = cluster.members;
const change = (tool: string, input: object) => mustCall(first, first.adminKey, tool, input);
const askSecond = (model: string) => callTool(second, second.adminKey, 'send_chat_message', { message: 'Hi', model });
const idsOfSecond = async (): Promise<string[]> =>
  (await mustCall(second, second.adminKey, 'list_models')).data.map(({ id }: { id: string }) => id);

it('a process follows what another one changes of a provider: its key, its models and its end', async () => {
  const provider = { name: 'lab', kind: 'openai-compatible', baseUrl: far.baseUrl, apiKey: 'sk-first-of-the-lab' };
  const { id } = await change('create_model_provider', { ...provider, models: [{ name: 'extra' }] });
  await until(async () => 'output' in (await askSecond('lab/tiny')));
  assert.equal(far.requests.at(-1)?.authorization, 'Bearer sk-first-of-the-lab');
  assert.ok((await idsOfSecond()).includes('lab/extra'));

  await change('update_model_provider', { id, apiKey: 'sk-second-of-the-lab' });
  await until(async () => {
    assert.ok('output' in (await askSecond('lab/tiny')));
    return far.requests.at(-1)?.authorization === 'Bearer sk-second-of-the-lab';
  });

  await change('update_model_provider', { id, models: [] });
  await until(async () => !(await idsOfSecond()).includes('lab/extra'));

  await change('delete_model_provider', { id });
  await until(async () => 'error' in (await askSecond('lab/tiny')));
  const asked = far.requests.length;
  const answer = await askSecond('lab/tiny');
  assert.equal('error' in answer && answer.error.code, 'invalid_input');
  assert.deepEqual([far.requests.length, (await idsOfSecond()).filter((each) => each.startsWith('lab/'))], [asked, []]);
});
