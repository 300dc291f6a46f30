import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callTool, mustCall } from '../support/calls.ts';
import { startProcess, withFolder } from '../support/child.ts';
import { type ModelRequest, type Reply, startModelServer } from '../support/model-server.ts';
import { keyOfSomebody } from '../support/second-person.ts';
import { openStoreIn } from '../support/store.ts';
import { until } from '../support/until.ts';

const told = ({ messages }: ModelRequest) => messages.findLast(({ role }) => role === 'tool')?.content;
const isOuter = ({ messages }: ModelRequest) => messages[0]?.content.includes('I am outer.') === true;

/** What the agents do. The outer one finishes what was cut off. */
function reply(request: ModelRequest): Reply {
  const heard = told(request);
  const input = { agent: 'inner', input: 'Make it' };
  if (isOuter(request) && heard === undefined) return { calls: [{ name: 'invoke_agent', arguments: input }] };
  const cut = heard?.includes('"interrupted"') && /"runId":"(run_\w+)"/.exec(heard)?.[1];
  if (cut) return { calls: [{ name: 'invoke_agent', arguments: { ...input, continue: cut } }] };
  if (request.messages.at(-1)?.content.includes('- create_skill: ok') && !heard) return { text: 'It is made.' };
  return heard === undefined
    ? { calls: [{ name: 'create_skill', arguments: { name: 'the skill', instructions: 'x' } }] }
    : { text: `I heard: ${heard}` };
}

/** The turn of whom is under way when kill -9 ends the process. */
type Moment = 'nobody' | 'inner' | 'outer';

async function crashIn(folder: string, moment: Moment) {
  const provider = await startModelServer();
  const env = { MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny', LOG_LEVEL: 'silent' };
  const store = await openStoreIn(folder);
  const [admin, bert] = [await keyOfSomebody(store, 'anna'), await keyOfSomebody(store, 'bert')];
  await store.close();
  let asked: string[] = [];
  let hangs = false;
  provider.play((request) => {
    const name = isOuter(request) ? 'outer' : 'inner';
    asked.push(name);
    const isHere = hangs && name === moment && told(request) !== undefined;
    return isHere ? 'hang' : reply(request);
  });
  let server = await startProcess(folder, env);
  const must = (name: string, input: object) => mustCall(server, admin, name, input);
  try {
    const agent = (name: string, more: object) => ({ name, displayName: name, instructions: `I am ${name}.`, ...more });
    await must('create_agent', agent('inner', { tools: ['create_skill'], askFirst: ['create_skill'] }));
    await must('create_agent', agent('outer', { tools: ['invoke_agent', 'create_skill'] }));
    const { runId, threadId } = await must('send_chat_message', { message: 'Begin', agentId: 'outer' });
    const { waitsFor } = await must('get_agent_run', { id: runId });
    const decide = () => callTool(server, bert, 'decide_approval', { id: waitsFor[0].approvalId, decision: 'approve' });
    hangs = true;
    if (moment !== 'nobody') {
      assert.ok('output' in (await decide()));
      await until(() => asked.filter((name) => name === moment).length === 2);
    }
    await server.stop('SIGKILL');
    hangs = false;
    asked = [];
    server = await startProcess(folder, env);
    if (moment === 'nobody') assert.ok('output' in (await decide()));
    const runs = async () => (await must('list_agent_runs', { limit: 20 })).data;
    const open = async () => (await runs()).filter(({ status }: { status: string }) => /waiting|running/.test(status));
    await until(async () => (await open()).length === 0);
    const last = (await runs()).find((run: { threadId?: string }) => run.threadId === threadId);
    if (last.status === 'failed') await must('send_chat_message', { threadId, continue: last.id });
    const { data } = await must('list_messages', { id: threadId, limit: 1 });
    const made = (await must('list_skills', { name: 'the skill' })).data.length;
    return { asked, made, answer: String(data[0].content) };
  } finally {
    await server.stop('SIGTERM');
    await provider.close();
  }
}

describe('an agent that waits for one that it invoked, whose process kill -9 ended', () => {
  for (const [moment, asked, answer] of [
    ['nobody', ['inner', 'outer'], /I heard: .*I heard: .*the skill/s],
    ['inner', ['outer', 'inner', 'outer'], /I heard: .*It is made/s],
    ['outer', ['outer'], /I heard: .*I heard: .*the skill/s],
  ] as const) {
    it(`has the approved call made once, and what is unknown is told: in the turn of ${moment}`, async () => {
      await withFolder(async (folder) => {
        const found = await crashIn(folder, moment);
        assert.deepEqual([found.made, found.asked], [1, asked]);
        assert.match(found.answer, answer);
      });
    });
  }
});
