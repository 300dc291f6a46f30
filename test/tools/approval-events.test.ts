import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';
import { startReceiver, WebhookWorld } from '../support/webhook-world.ts';

const BOTH = ['approval.requested', 'approval.decided'];
const MINUTE = 60_000;

let world: WebhookWorld;
afterEach(() => world.close());

/** The id of the approval that a new key asks for. */
async function asked(skill: string, name = 'robot'): Promise<string> {
  const { id } = await world.must('create_api_key', { name, scopes: ['write'], askFirst: ['*'] });
  const { catalog, now } = world.registry.server;
  const robot = await credentialStatus({ type: 'api-key', id, name }, world.store, { catalog, now: now() });
  assert.ok(typeof robot !== 'string');
  const { code, approvalId } = await world.refused('create_skill', { name: skill, instructions: 'argument' }, robot);
  assert.equal(code, 'approval_required');
  return String(approvalId);
}

/** By somebody independent. */
async function decide(id: string, decision: 'approve' | 'reject'): Promise<void> {
  await world.must('decide_approval', { id, decision }, await world.key(['admin']));
}

describe('approvals', () => {
  it('are told of when they are requested and when they are decided, once each and without arguments', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events: BOTH, alerts: ['approval.requested'] });
    const [yes, no] = [await asked('first'), await asked('second')];
    await world.sent(id);
    await decide(yes, 'approve');
    await decide(no, 'reject');
    // What happens to it later is no decision.
    await world.store.transaction((tx) => tx.approvals.update(yes, { status: 'running' }));
    await world.store.transaction((tx) => tx.approvals.update(yes, { status: 'done' }));
    await world.sent(id);
    const told = receiver.events().sort();
    assert.deepEqual(
      told,
      [
        `approval.decided ${yes} 2`,
        `approval.decided ${no} 2`,
        `approval.requested ${yes} 1`,
        `approval.requested ${no} 1`,
      ].sort(),
    );
    const { expiresAt, by } = await world.store.approvals.read(no);
    const url = `http://127.0.0.1:9/approvals/${no}`;
    const of = (type: string) => receiver.received.find(({ event }) => event.type === type && event.data.id === no);
    assert.deepEqual(of('approval.requested')?.event.data.approval, { tool: 'create_skill', by, expiresAt, url });
    const { decidedBy, ...rest } = of('approval.decided')?.event.data.approval ?? {};
    assert.deepEqual(rest, { tool: 'create_skill', by, expiresAt, decision: 'rejected', url });
    assert.equal(decidedBy.type, 'api-key');
    assert.doesNotMatch(receiver.received.map(({ body }) => body).join(), /first|second|argument/);
    for (const { event } of await world.deliveries(id)) assert.ok(!('approval' in event));
    assert.deepEqual(world.failures, []);
  });

  it('are told only to who may decide them, or whom their caller acts for', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const grants = ['webhook', 'approval:read', 'approval:decide'];
    const may = await world.key([], [...grants, 'skill:write']);
    const mayNot = await world.key([], [...grants, 'agent:write']);
    const reads = await world.key([], ['webhook', 'approval:read', 'skill:write']);
    const target = { url: receiver.url };
    const [first, ...others] = [may, mayNot, reads].map((owner) => world.webhook({ target, events: BOTH }, owner));
    const heard = (await first).id;
    const withheld = pluck(await Promise.all(others), 'id').map(String);
    const id = await asked('first');
    for (const webhook of [heard, ...withheld]) await world.sent(webhook);
    assert.deepEqual(receiver.events(), [`approval.requested ${id} 1`]);
    for (const webhook of withheld) {
      const [delivery] = await world.deliveries(webhook);
      assert.equal(delivery?.status, 'withheld');
    }
  });

  it('are mailed with who asks, for what, until when, and the page, also as an alert', async () => {
    world = await WebhookWorld.open();
    await world.webhook({
      target: { email: 'ann@example.com' },
      events: ['approval.decided'],
      alerts: BOTH.slice(0, 1),
    });
    const id = await asked('first', 'robot" https://evil.example');
    await world.pass(MINUTE);
    await until(() => world.mails.length === 1);
    const [mail] = world.mails;
    assert.match(mail?.subject ?? '', /A call waits for approval$/);
    const lines = mail?.text.split('\n') ?? [];
    const at = lines.findIndex((line) =>
      line.includes('create_skill, asked by "robot\\" https://evil.example", until 20'),
    );
    assert.ok(at > 0, mail?.text);
    assert.ok(lines[at + 1]?.includes(`http://127.0.0.1:9/approvals/${id} (opening it decides nothing)`), mail?.text);
    assert.doesNotMatch(mail?.text ?? '', /first|argument/);
    await decide(id, 'reject');
    await world.pass(11 * MINUTE);
    await until(() => world.mails.length === 2);
    assert.match(world.mails[1]?.text ?? '', /A call that waited was decided: create_skill, .*, rejected by "/);
  });

  it('begin flows that wait for them, of those who may see them', async () => {
    world = await WebhookWorld.open();
    const flow = (owner: Parameters<typeof world.must>[2]) =>
      world.must(
        'create_flow',
        {
          name: 'told',
          trigger: { kind: 'event', type: 'approval.requested' },
          steps: [{ id: 'one', tool: 'check_health', arguments: {} }],
        },
        owner,
      );
    const seeing = await flow(world.admin);
    const grants = ['flow', 'system:read', 'approval:read', 'skill:write'];
    const blind = await flow(await world.key([], grants));
    const id = await asked('first');
    const runs = (flowId: string) => world.store.flowRuns.find({ where: { flowId }, limit: 10 });
    await until(async () => (await runs(seeing.id)).records.length === 1);
    assert.deepEqual((await runs(seeing.id)).records[0]?.input, { type: 'approval.requested', id });
    assert.deepEqual((await runs(blind.id)).records, []);
  });
});
