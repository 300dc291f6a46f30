import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { callsOf, makeKey } from '../support/calls.ts';
import { startModelServer } from '../support/model-server.ts';
import { pluck } from '../support/pluck.ts';
import { startTestServer } from '../support/server.ts';

const provider = await startModelServer();
const server = await startTestServer({ MODEL_BASE_URL: provider.baseUrl, MODEL_NAME: 'tiny' });
const { must, refused } = callsOf(server);
afterEach(() => provider.play(() => ({ text: 'Hello.' })));

const projectId = (await must('create_project', { name: 'Support' })).id;
const refunds = await must('create_document', {
  title: 'Refund policy',
  projectId,
  tags: ['policy'],
  content:
    '# Amounts\n\nRefunds above 500 EUR need the approval of the finance team.\n\n# Time\n\nRefunds are paid within five days.',
});
const secret = await must('create_document', {
  title: 'Refunds for insiders',
  content: 'Refunds above 500 EUR are paid to insiders without approval.',
});
const QUESTION = 'Who gives approval for refunds above 500 EUR?';

async function makeAgent(name: string, knowledge: object | undefined, more: object = {}): Promise<string> {
  return (await must('create_agent', { name, displayName: name, ...(knowledge && { knowledge }), ...more })).id;
}

/** Answers with the text, and shows what the model was told last. */
function answering(text: string): { readonly told: () => string } {
  let told = '';
  provider.play(({ messages }) => {
    told = String(messages.at(-1)?.context);
    return { text };
  });
  return { told: () => told };
}

describe('an agent with knowledge', () => {
  it('gets the passages that fit, cites them by number, and leads from its answer to each of them', async () => {
    const agentId = await makeAgent('clerk', { projectIds: [projectId] });
    const { told } = answering('The finance team [1].');
    const { message, threadId } = await must('send_chat_message', { agentId, message: QUESTION });
    assert.match(told(), /<data kind="passage" id="1" title="Refund policy > Amounts \(doc_\w+\)">\nRefunds above 500/);
    const first = { documentId: refunds.id, revision: 1, offset: message.citations[0].offset };
    assert.deepEqual(message.citations, [{ number: 1, ...first }]);
    const { data } = await must('list_messages', { id: threadId });
    assert.deepEqual(data.find(({ id }: { id: string }) => id === message.id).citations, message.citations);
    const part = await must('get_document', { id: refunds.id, offset: first.offset, limit: 40 });
    assert.match(part.content, /500 EUR|# Amounts/);

    const { run } = await must('explain_answer', { messageId: message.id });
    const [shown] = run.passages;
    assert.deepEqual([shown.id, shown.revision, shown.number, shown.path], [refunds.id, 1, 1, 'Amounts']);
    const entries = await must('list_audit_entries', { requestId: run.requestId });
    const lookUp = entries.data.find(({ tool }: { tool: string }) => tool === 'search_passages');
    assert.deepEqual([lookUp.principal.id, lookUp.door], [agentId, 'agent']);
  });

  it('is told when nothing fits, and cites nothing that it was not given', async () => {
    const agentId = await makeAgent('honest', { tags: ['policy'] });
    const { told } = answering('The moon [1], and [7].');
    const { message } = await must('send_chat_message', { agentId, message: 'Which planets have rings of ice?' });
    assert.match(told(), /No passage of the documents fits/);
    assert.ok(!told().includes('kind="passage"'));
    assert.equal(message.citations, undefined);
  });

  it('has the documents of its projects and tags alone, as many passages as it takes', async () => {
    const { told } = answering('x');
    await must('invoke_agent', {
      agent: await makeAgent('narrow', { tags: ['policy'], maxPassages: 1 }),
      input: QUESTION,
    });
    assert.equal(told().match(/kind="passage"/g)?.length, 1);
    assert.ok(!told().includes(secret.id));
    await must('invoke_agent', { agent: await makeAgent('wide', {}), input: QUESTION });
    assert.ok(told().includes(secret.id) && told().includes(refunds.id));
    const empty = (await must('create_project', { name: 'Empty' })).id;
    const both = await makeAgent('beside', { projectIds: [projectId, empty] });
    await must('invoke_agent', { agent: both, input: QUESTION });
    assert.ok(told().includes(refunds.id) && !told().includes('could not be searched'));
  });

  it('gets a passage that stands in several documents once', async () => {
    const content = ['# Fees', 'Late parcels cost a fee of 12 EUR.'].join('\n\n');
    const copies = [];
    for (const title of ['Fees', 'Fees, copied', 'Fees again']) {
      copies.push((await must('create_document', { title, content })).id);
    }
    const other = await must('create_document', {
      title: 'Parcels',
      content: 'A fee for late parcels is waived once.',
    });
    const agentId = await makeAgent('parcels', { maxPassages: 2 });
    const { told } = answering('12 EUR [1].');
    await must('send_chat_message', { agentId, message: 'Which fee have late parcels?' });
    assert.equal(told().match(/Late parcels cost a fee/g)?.length, 1);
    assert.equal(told().match(/kind="passage"/g)?.length, 2);
    for (const id of [...copies, other.id]) await must('delete_document', { id });
  });

  it('gets nothing that its caller may not read, and nothing at all for who reads no documents', async () => {
    const agentId = await makeAgent('shared', {});
    const { told } = answering('See [1] and [2].');
    const grants = ['agent:invoke', 'agent:read', `document:read:${refunds.id}`];
    const key = await makeKey(server, { grants });
    const { citations, runId } = await must('invoke_agent', { agent: agentId, input: QUESTION }, key);
    assert.ok(told().includes('finance team') && !told().includes('insiders'));
    assert.deepEqual([...new Set(pluck(citations, 'documentId'))], [refunds.id]);
    const other = await makeKey(server, { grants: ['agent:invoke', 'agent:read'] });
    await must('invoke_agent', { agent: agentId, input: QUESTION }, other);
    assert.ok(!told().includes('passage'));

    const whole = await must('invoke_agent', { agent: agentId, input: QUESTION });
    const run = await must('get_agent_run', { id: whole.runId });
    assert.ok(pluck(run.passages, 'id').includes(secret.id));
    assert.equal((await must('get_agent_run', { id: runId })).hidden, 0);
  });

  it('hides from readers of a run the passages that they may not read', async () => {
    const agentId = await makeAgent('seen', {});
    answering('See [1].');
    const { runId, threadId } = await must('send_chat_message', { agentId, message: QUESTION });
    const grants = [`thread:read:${threadId}`, 'agent:read', `document:read:${refunds.id}`];
    const key = await makeKey(server, { grants });
    const seen = await must('get_agent_run', { id: runId }, key);
    assert.deepEqual([...new Set(pluck(seen.passages, 'id'))], [refunds.id]);
    assert.ok(seen.hidden >= 1);
  });

  it('is refused with a project that is not there, and forgets its documents with null', async () => {
    const error = await refused('create_agent', {
      ...{ name: 'lost', displayName: 'Lost' },
      knowledge: { projectIds: [projectId, 'prj_none'] },
    });
    assert.deepEqual([error.code, error.issues?.[0]?.path], ['invalid_input', 'knowledge.projectIds[1]']);
    const id = await makeAgent('forgetful', { tags: ['policy'] });
    assert.deepEqual((await must('get_agent', { id })).knowledge, { tags: ['policy'], maxPassages: 5 });
    assert.equal((await must('update_agent', { id, knowledge: null })).knowledge, undefined);
  });

  it('works with the built-in model too, which quotes with the number', async () => {
    const agent = await makeAgent('rehearsal', { projectIds: [projectId] }, { modelPreference: 'offline/rehearsal' });
    const { text, citations } = await must('invoke_agent', { agent, input: QUESTION });
    assert.match(text, /approval of the finance team\. \[1\]/);
    assert.equal(citations[0].documentId, refunds.id);
  });
});
