import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type Ongoing, raiseAlert } from '../../tools/webhooks/alerts.ts';
import { FailingFiles } from '../store/failing-files.ts';
import { until } from '../support/until.ts';
import { startReceiver, WebhookWorld } from '../support/webhook-world.ts';
import { writing } from '../support/writing.ts';

const MINUTE = 60_000;
const events = ['skill.created', 'skill.updated', 'skill.deleted'];

let world: WebhookWorld;
afterEach(() => world.close());

const skill = (name: string) => world.must('create_skill', { name, instructions: 'x' });
const problems = async (id: string) =>
  (await world.deliveries(id)).map(({ status, lastError = '' }) => `${status} ${lastError}`);

describe('what a webhook may tell', () => {
  it('is what its owner may read when it is sent: not after the key lost the right, nor when its person is gone', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const narrow = await world.key([], ['webhook:write', 'skill:read']);
    const { id } = await world.webhook(
      { target: { url: receiver.url }, events: [...events, 'document.created'] },
      narrow,
    );
    const seen = await skill('seen');
    await world.must('create_document', { title: 'unseen' });
    await world.sent(id);
    assert.deepEqual(receiver.events(), [`skill.created ${seen.id} 1`]);
    assert.match((await problems(id)).join(), /withheld .*may not read/);

    await writing(world.store).apiKeys.update(narrow.id, { grants: ['webhook:write'] });
    await skill('no more');
    await world.sent(id);
    assert.match((await problems(id))[0] ?? '', /withheld .*may not read/);
    await writing(world.store).apiKeys.update(narrow.id, { grants: ['skill:read'] });
    await writing(world.store).adminUsers.update(narrow.ownerId, { isActive: false });
    await skill('nobody');
    await world.sent(id);
    assert.match((await problems(id))[0] ?? '', /withheld .*gone/);
    assert.equal(receiver.received.length, 1);

    const taken = await world.must('update_webhook', { id, events });
    assert.equal(taken.owner.id, world.admin.id);
    const again = (await world.deliveries(id))[0];
    await world.must('retry_webhook_delivery', { id: again?.id });
    await world.sent(id);
    assert.equal(receiver.received.length, 2);
  });

  it('is nothing of a restricted thread, also once it is deleted, to who could not see it', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const other = await world.key([], ['webhook:write', 'thread:read', 'message:read']);
    const types = ['thread.created', 'thread.updated', 'thread.deleted', 'thread.message.created'];
    const { id } = await world.webhook({ target: { url: receiver.url }, events: types }, other);
    const messages = [{ role: 'user', content: 'hello' }];
    const open = await world.must('create_thread', { title: 'open', messages });
    await world.sent(id);
    const before = receiver.received.length;
    assert.ok(receiver.received.some(({ event }) => event.type === 'thread.message.created'));
    await world.must('update_thread_access', { id: open.id, visibility: 'restricted' });
    await world.must('update_thread', { id: open.id, title: 'secret' });
    await world.must('delete_thread', { id: open.id });
    await world.sent(id);
    assert.equal(receiver.received.length, before);
    assert.ok((await problems(id)).slice(0, 2).every((each) => each.startsWith('withheld')));
  });

  it('is never decided by agents, flows and capsules, and never names or secrets of what was purged', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events: ['agent.created', 'agent.deleted'] });
    receiver.answer = 503;
    const agent = await world.must('create_agent', { name: 'very-private', displayName: 'x' });
    await world.must('delete_agent', { id: agent.id });
    await world.must('purge_record', { entityType: 'agent', id: agent.id });
    const kept = await world.store.webhookDeliveries.find({ where: { webhookId: id }, limit: 100 });
    assert.equal(kept.records.length > 0, true);
    assert.doesNotMatch(JSON.stringify(kept.records), /very-private/);
    receiver.answer = 200;
    await world.pass(16 * MINUTE);
    await world.sent(id);
    assert.deepEqual(
      new Set(receiver.events()),
      new Set([`agent.created ${agent.id} 1`, `agent.deleted ${agent.id} 2`]),
    );
    const capsule = { ...world.admin, type: 'capsule' as const };
    assert.equal(
      await world.codeOf('create_webhook', { name: 'x', target: { email: 'a@example.com' }, events }, capsule),
      'forbidden',
    );
  });
});

describe('a receiver that is not trusted', () => {
  it('is not waited for, not followed to another address, and not read', async () => {
    world = await WebhookWorld.open({ answerMs: 300 });
    const elsewhere = await startReceiver();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.answer = () => {}; // for ever
    await skill('one');
    await world.send();
    assert.match((await problems(id))[0] ?? '', /waiting It gave no answer within 0.3 s/);

    receiver.answer = (response) => response.writeHead(307, { Location: elsewhere.url }).end();
    await world.pass(MINUTE);
    assert.match((await problems(id))[0] ?? '', /waiting It answered 307; redirects are not followed/);
    assert.equal(elsewhere.received.length, 0);

    let bytes = 0;
    let ended = false;
    receiver.answer = (response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).on('close', () => {
        ended = true;
      });
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const more = () => {
        while (!ended && bytes < 1e9 && response.write(chunk)) bytes += chunk.length;
        if (!ended) response.once('drain', more);
      };
      more();
    };
    await world.pass(20 * MINUTE);
    await world.sent(id);
    assert.match((await problems(id))[0] ?? '', /^delivered/);
    await until(() => ended);
    assert.ok(bytes < 50e6, `${bytes} bytes were taken`);
  });

  it('has no private address, neither when it is given nor when its name leads to one later', async () => {
    world = await WebhookWorld.open({ privateAddresses: false });
    const receiver = await startReceiver();
    const { port } = new URL(receiver.url);
    for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', '[::ffff:10.0.0.1]', '0x7f000001', 'localhost']) {
      const target = { url: `http://${host}:${port}/` };
      assert.equal(await world.codeOf('create_webhook', { name: 'x', target, events }), 'invalid_input', host);
    }
    const { id } = await world.webhook({ target: { url: 'https://hooks.example.invalid/' }, events });
    // As if the name had been public when it was given.
    await writing(world.store).webhooks.update(id, { target: { url: `http://localhost:${port}/` } });
    await skill('one');
    await world.send();
    assert.match((await problems(id))[0] ?? '', /waiting localhost is a private or local address/);
    const test = await world.must('test_webhook', { id });
    assert.match(test.lastError, /private or local address/);
    assert.equal(receiver.received.length, 0);
  });
});

describe('webhooks that send mails', () => {
  it('gather what happens, so that a storm is a mail every ten minutes, and try again', async () => {
    world = await WebhookWorld.open();
    const { id, secret } = await world.webhook({ target: { email: 'ops@example.com' }, events });
    assert.equal(secret, undefined);
    for (let at = 0; at < 60; at += 1) await skill(`private name ${at}`);
    await world.send();
    assert.equal(world.mails.length, 0);
    world.mailProblem = 'busy';
    await world.pass(MINUTE);
    assert.match((await problems(id))[0] ?? '', /waiting The mail was not sent: busy/);
    world.mailProblem = undefined;
    await world.pass(MINUTE);
    assert.equal(world.mails.length, 1);
    const [mail] = world.mails;
    assert.equal(mail?.to, 'ops@example.com');
    assert.match(mail?.text ?? '', /skill\.created: skl_[0-9a-z]{26}, revision 1\n[\s\S]*and 10 more/);
    assert.doesNotMatch(mail?.text ?? '', /private name/);
    assert.equal((await world.deliveries(id, 'delivered')).length, 60);
    await skill('soon after');
    await world.pass(5 * MINUTE);
    assert.equal(world.mails.length, 1);
    await world.pass(6 * MINUTE);
    assert.equal(world.mails.length, 2);
  });
});

describe('alerts', () => {
  it('tell of a failed run of a flow, with the run', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, alerts: ['flow.failed'] });
    const flow = await world.must('create_flow', {
      name: 'fails',
      steps: [{ id: 'a', tool: 'get_skill', arguments: { id: '{{ "skl_none" }}' } }],
    });
    const run = await world.must('trigger_flow', { id: flow.id, wait: true });
    assert.equal(run.status, 'failed');
    await world.sent(id);
    assert.deepEqual(receiver.events(), [`flow.failed ${run.id} ${run.revision}`]);
  });

  it('tell once of what goes on, also after a restart, and again when it comes again', async () => {
    let ongoing: readonly Ongoing[] = [];
    world = await WebhookWorld.open({ alerts: [{ name: 'test', look: async () => ongoing }] });
    const receiver = await startReceiver();
    const { id } = await world.webhook({
      target: { url: receiver.url },
      alerts: ['integration.away', 'budget.reached'],
    });
    ongoing = [
      { type: 'integration.away', id: 'int_one' },
      { type: 'backup.old', id: 'none' },
    ];
    await world.engine.watch();
    await world.engine.watch();
    await world.restart();
    await world.engine.watch();
    await world.sent(id);
    assert.deepEqual(receiver.events(), ['integration.away int_one']);
    ongoing = [];
    await world.engine.watch();
    ongoing = [{ type: 'integration.away', id: 'int_one' }];
    await world.engine.watch();
    await world.sent(id);
    assert.equal(receiver.received.length, 2);
  });

  it('come once where an event has the same name', async () => {
    world = await WebhookWorld.open();
    const type = 'budget.reached';
    const budget = { measure: 'calls', period: 'day', limit: 2, warnAt: 0.5 };
    const { id } = await world.webhook({ target: { email: 'a@example.com' }, alerts: [type] });
    const { id: both } = await world.webhook({ target: { email: 'b@example.com' }, alerts: [type], events: [type] });
    const made = await world.must('create_budget', { ...budget, subject: { type: 'key', id: world.admin.id } });
    const notice = { level: 'reached' as const, at: world.clock.in(0), revision: made.revision + 1 };
    await world.store.transaction(async (tx) => {
      const { revision } = await tx.budgets.update(made.id, { notice });
      await raiseAlert(tx, { type, id: made.id, revision }, world.clock.now());
    });
    for (const each of [id, both]) {
      assert.deepEqual(
        (await world.deliveries(each)).map(({ event }) => event.type),
        [type],
      );
    }
  });

  it('tell that the store takes no writes while it takes none, once, and list it afterwards', async () => {
    const files = new FailingFiles();
    world = await WebhookWorld.open({ files });
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, alerts: ['store.not_writable'] });
    await world.engine.lookAtStore();
    files.failure = 'write';
    assert.equal(await world.codeOf('create_skill', { name: 'refused', instructions: 'x' }), 'unavailable');
    for (let looks = 0; looks < 4; looks += 1) await world.engine.lookAtStore();
    assert.deepEqual(receiver.events(), ['store.not_writable store']);
    files.failure = undefined;
    await until(() => world.store.status().writable);
    await world.engine.lookAtStore();
    assert.deepEqual(
      (await world.deliveries(id)).map(({ id: delivery, status }) => [delivery, status]),
      receiver.received.map(({ headers }) => [headers['webhook-id'], 'delivered']),
    );
  });
});
