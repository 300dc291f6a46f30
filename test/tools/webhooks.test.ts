import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { trimWaiting } from '../../tools/webhooks/outbox.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';
import { type Received, startReceiver, WebhookWorld } from '../support/webhook-world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: WebhookWorld;
afterEach(() => world.close());

const events = ['skill.created', 'skill.updated', 'skill.deleted'];
const skill = (name: string) => world.must('create_skill', { name, instructions: `the instructions of ${name}` });
const change = (id: string, text: string) => world.must('update_skill', { id, instructions: text });
const idOf = ({ headers }: Received) => String(headers['webhook-id']);
const signatures = ({ headers }: Received) => String(headers['webhook-signature']).split(' ');
const verifies = (secret: string, { headers, body }: Received) => {
  const given = {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  };
  assert.doesNotThrow(() => new Verifier(secret).verify(body, given));
};

describe('attempts that are under way together', () => {
  it('count as one failure where the receiver is away', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    const waiting: (() => void)[] = [];
    receiver.answer = (response) => void waiting.push(() => response.writeHead(503).end());
    for (const name of ['a', 'b', 'c', 'd']) await skill(name);
    const sending = world.send();
    await until(() => waiting.length === 4);
    for (const refuse of waiting) refuse();
    await sending;
    assert.equal((await world.store.webhooks.get(id))?.failures, 1);
    assert.ok((await world.deliveries(id)).every(({ attempts }) => attempts === 1));
  });

  it('leave a delivery alone that somebody had repeated meanwhile', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.answer = 400;
    await skill('a');
    await world.send();
    const [failed] = await world.deliveries(id);
    assert.ok(failed);
    let refuse: (() => void) | undefined;
    receiver.answer = (response) => {
      refuse = () => response.writeHead(400).end();
    };
    world.clock.pass(MINUTE);
    const sending = world.send();
    await until(() => refuse !== undefined);
    await world.must('retry_webhook_delivery', { id: failed.id });
    const wished = await world.store.webhookDeliveries.get(failed.id);
    receiver.answer = 204;
    refuse?.();
    await sending;
    await world.sent(id);
    const kept = await world.store.webhookDeliveries.get(failed.id);
    assert.deepEqual([kept?.status, kept?.attempts], ['delivered', (wished?.attempts ?? 0) + 1]);
  });
});

describe('a webhook', () => {
  it('gets type, id and revision of what it asked for, in order and signed, and nothing of the content', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id, secret } = await world.webhook({ target: { url: receiver.url }, events });
    const one = await skill('first');
    await change(one.id, 'other');
    await world.must('create_document', { title: 'not asked for' });
    await world.must('delete_skill', { id: one.id });
    await world.sent(id);
    assert.deepEqual(receiver.events(), [
      `skill.created ${one.id} 1`,
      `skill.updated ${one.id} 2`,
      `skill.deleted ${one.id} 2`,
    ]);
    for (const received of receiver.received) {
      verifies(secret, received);
      assert.deepEqual(Object.keys(received.event).sort(), ['data', 'timestamp', 'type']);
      assert.deepEqual(Object.keys(received.event.data).sort(), ['id', 'revision']);
    }
    assert.doesNotMatch(receiver.received.map(({ body }) => body).join(), /first|instructions|other/);
    const deliveries = await world.deliveries(id);
    assert.deepEqual(deliveries.map(({ id: delivery }) => delivery).reverse(), receiver.received.map(idOf));
    for (const { status, attempts, lastStatus } of deliveries) {
      assert.deepEqual([status, attempts, lastStatus], ['delivered', 1, 204]);
    }
    assert.deepEqual(world.failures, []);
  });

  it('has a secret that is shown once, kept encrypted, and replaced with a time in which both sign', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id, secret } = await world.webhook({ target: { url: receiver.url }, events });
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal((await world.must('get_webhook', { id })).secret, '•••');
    const stored = JSON.stringify(await world.store.webhooks.read(id));
    assert.ok(!stored.includes(secret) && !stored.includes(secret.slice(6)));

    const rotated = await world.must('rotate_webhook_secret', { id, graceSeconds: 3600 });
    await skill('in grace');
    await world.sent(id);
    const [both] = receiver.received;
    assert.ok(both);
    assert.equal(signatures(both).length, 2);
    for (const each of [secret, rotated.secret]) verifies(each, both);

    const moved = await world.must('update_webhook', { id, target: { url: `${receiver.url}/elsewhere` } });
    assert.equal(moved.secret, '•••');
    world.clock.pass(HOUR + 1000);
    await skill('later');
    await world.sent(id);
    const late = receiver.received[1];
    assert.ok(late);
    assert.equal(signatures(late).length, 1);
    const at = new Date(Number(late.headers['webhook-timestamp']) * 1000);
    assert.deepEqual(signatures(late), [new Verifier(rotated.secret).sign(idOf(late), at, late.body)]);

    const other = await startReceiver();
    const away = await world.must('update_webhook', { id, target: { url: other.url } });
    assert.match(away.secret, /^whsec_/);
    assert.notEqual(away.secret, rotated.secret);
  });

  it('that was away for hours gets everything once it is back, in order', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const port = Number(new URL(receiver.url).port);
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.stop();
    const skills: { id: string }[] = [];
    for (let at = 0; at < 12; at += 1) skills.push(await skill(`skill ${at}`));
    for (let hour = 0; hour < 6; hour += 1) {
      for (const each of skills.slice(0, 3)) await change(each.id, `in hour ${hour}`);
      for (let quarter = 0; quarter < 4; quarter += 1) await world.pass(16 * MINUTE);
    }
    assert.equal((await world.must('get_webhook', { id })).state, 'failing');
    const attempts = (await world.deliveries(id)).reduce((sum, { attempts }) => sum + attempts, 0);
    assert.ok(attempts <= 50, `${attempts} attempts while it was away`);
    await world.restart();
    const back = await startReceiver(port);
    await world.pass(16 * MINUTE);
    await world.sent(id);
    assert.equal(back.received.length, 12 + 3 * 6);
    for (const each of skills) {
      const revisions = back.received.filter(({ event }) => event.data.id === each.id);
      const sorted = revisions.map(({ event }) => event.data.revision);
      assert.deepEqual(
        sorted,
        [...sorted].sort((a, b) => a - b),
      );
    }
    assert.equal(new Set(back.received.map(idOf)).size, back.received.length);
    assert.equal((await world.must('get_webhook', { id })).state, 'ok');
  });

  it('gets nothing twice while events of many records are answered and looked for at once', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    let answered = 0;
    receiver.answer = (response) => {
      answered += 1;
      setTimeout(() => response.writeHead(204).end(), answered % 5);
    };
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    for (let at = 0; at < 200; at += 1) await skill(`skill ${at}`);
    await world.sent(id);
    assert.equal(receiver.received.length, 200);
    assert.equal(new Set(receiver.received.map(idOf)).size, 200);
  });

  it('that refuses one record gets all others meanwhile, and what came later of that record when it was given up', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    const bad = await skill('bad');
    receiver.answer = (response, { event }) =>
      response.writeHead(event.data.id === bad.id && event.type === 'skill.created' ? 500 : 200).end();
    await change(bad.id, 'waits');
    const good = await skill('good');
    await world.send();
    const of = (record: string) => receiver.received.filter(({ event }) => event.data.id === record).length;
    assert.equal(of(good.id), 1);
    for (let step = 0; step < 12; step += 1) await world.pass(16 * MINUTE);
    assert.equal(
      receiver.received.some(({ event }) => event.type === 'skill.updated'),
      false,
    );
    for (let step = 0; step < 84; step += 1) {
      if (step % 20 === 0) await skill(`good ${step}`); // it works otherwise, so it is not switched off
      await world.pass(16 * MINUTE);
    }
    const [last] = (await world.deliveries(id, 'failed')).map(({ event, lastStatus }) => [
      event.type,
      event.id,
      lastStatus,
    ]);
    assert.deepEqual(last, ['skill.created', bad.id, 500]);
    assert.ok(receiver.events().includes(`skill.updated ${bad.id} 2`));
    const tries = receiver.received.filter(({ event }) => event.type === 'skill.created' && event.data.id === bad.id);
    assert.equal(new Set(tries.map(idOf)).size, 1);
  });

  it('that fails for a day is switched off, says so, and gets what waited when it is switched on again', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const other = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    const watcher = await world.webhook({ target: { url: other.url }, alerts: ['webhook.failed'] });
    receiver.answer = 503;
    for (let at = 0; at < 3; at += 1) await skill(`skill ${at}`);
    for (let step = 0; step < 24 * 4; step += 1) await world.pass(16 * MINUTE);
    const stopped = await world.must('get_webhook', { id });
    assert.deepEqual([stopped.enabled, stopped.state], [false, 'stopped']);
    assert.match(stopped.stopped, /failed for a day.*503/);
    await world.sent(watcher.id);
    assert.deepEqual(other.events(), [`webhook.failed ${id} ${stopped.revision}`]);
    assert.ok((await world.engine.health()).some(({ kind, status }) => kind === 'webhook' && status === 'down'));
    await skill('while it is off');
    receiver.answer = 200;
    const before = receiver.received.length;
    await world.must('update_webhook', { id, enabled: true });
    await world.pass(16 * MINUTE);
    await world.sent(id);
    assert.ok(receiver.received.length > before);
    assert.equal((await world.must('get_webhook', { id })).state, 'ok');
    assert.equal((await world.deliveries(id, 'waiting')).length, 0);
  });

  it('is asked no more after it answered 410, and as late as it wishes after 429', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.answer = (response) => response.writeHead(429, { 'Retry-After': '1800' }).end();
    await skill('one');
    await world.send();
    receiver.answer = 410;
    await world.pass(29 * MINUTE);
    assert.equal(receiver.received.length, 1);
    await world.pass(2 * MINUTE);
    assert.equal(receiver.received.length, 2);
    assert.equal((await world.must('get_webhook', { id })).state, 'stopped');
  });

  it('gets nothing twice early and loses nothing when the clock is set forward or back by a day', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.answer = 503;
    await skill('one');
    await world.send();
    for (const step of [24 * HOUR, -48 * HOUR]) await world.pass(step);
    assert.equal(receiver.received.length, 3);
    assert.deepEqual(pluck(await world.deliveries(id), 'status'), ['waiting']);
    receiver.answer = 200;
    await world.pass(MINUTE);
    await world.sent(id);
    assert.equal(receiver.received.length, 4);
    assert.equal(new Set(receiver.received.map(idOf)).size, 1);
  });

  it('is not switched off for a clock that was ahead when it began to fail', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    receiver.answer = 503;
    world.clock.pass(120 * MINUTE);
    await skill('one');
    await world.send();
    for (let step = 0; step < 12; step += 1) await world.pass(16 * MINUTE);
    await world.pass(-250 * MINUTE);
    assert.deepEqual(pluck(await world.deliveries(id), 'status'), ['waiting']);
    assert.equal((await world.must('get_webhook', { id })).enabled, true);
    receiver.answer = 200;
    await world.pass(16 * MINUTE);
    await world.sent(id);
  });

  it('gets what happened, and what failed, while the clock was wrong, as soon as it is right', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    await world.webhook({ target: { url: receiver.url }, events });
    world.clock.pass(90 * MINUTE);
    await skill('one');
    world.clock.pass(-90 * MINUTE);
    await world.send();
    assert.equal(receiver.received.length, 1);
    receiver.answer = 503;
    world.clock.pass(90 * MINUTE);
    await skill('two');
    await world.send();
    receiver.answer = 200;
    await world.pass(-90 * MINUTE);
    assert.equal(receiver.received.length, 3);
  });

  it('gets the events of a record in order, also of more than are looked at together and by clocks that differ', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    receiver.answer = 503;
    const { id: webhookId } = await world.webhook({ target: { url: receiver.url }, events });
    const { id } = await skill('first');
    await world.send();
    const came = receiver.received.length;
    const { records } = await world.store.webhookDeliveries.find({ limit: 1 });
    const known = records[0] ?? assert.fail('nothing waits');
    const { id: _, createdAt, updatedAt: __, revision: ___, event, ...same } = known;
    const begun = Date.parse(createdAt);
    const add = (event: object, afterMs: number) => ({
      ...{ ...same, event: { ...known.event, ...event }, createdAt: new Date(begun + afterMs).toISOString() },
    });
    await world.store.transaction(async (tx) => {
      await tx.webhookDeliveries.insert(add({ revision: 3 }, 1));
      for (let at = 0; at < 400; at += 1)
        await tx.webhookDeliveries.insert(add({ id: `${id.slice(0, -3)}${String(at).padStart(3, '0')}` }, 2 + at));
      await tx.webhookDeliveries.insert(add({ revision: 2 }, 1000));
    });
    receiver.answer = 204;
    world.clock.pass(MINUTE);
    await world.sent(webhookId);
    const own = receiver.received.slice(came).filter(({ event: { data } }) => data.id === id);
    assert.deepEqual(
      own.map(({ event: { data } }) => data.revision),
      [event.revision, 2, 3],
    );
  });

  it('gets the events of a record in order, also where the clock went back by hours between them', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    receiver.answer = 503;
    const { id: webhookId } = await world.webhook({ target: { url: receiver.url }, events });
    const made: { id: string }[] = [];
    for (let at = 0; at < 250; at += 1) made.push(await skill(`skill ${at}`));
    const late = made.slice(-5);
    world.clock.pass(-120 * MINUTE);
    for (const { id } of late) await world.must('update_skill', { id, instructions: 'changed' });
    for (const { id } of late) await world.must('delete_skill', { id });
    await world.send();
    const came = receiver.received.length;
    receiver.answer = 204;
    world.clock.pass(180 * MINUTE);
    await world.sent(webhookId);
    for (const { id } of late) {
      const own = receiver.received.slice(came).filter(({ event: { data } }) => data.id === id);
      assert.deepEqual(
        own.map(({ event: { type } }) => type),
        ['skill.created', 'skill.updated', 'skill.deleted'],
      );
    }
  });

  it('leaves out what is too much, and says since when', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id } = await world.webhook({ target: { url: receiver.url }, events });
    const webhook = await world.store.webhooks.read(id);
    await trimWaiting(world.store, webhook, 10_000, world.clock.now());
    const { leavesOutSince } = await world.must('get_webhook', { id });
    await skill('left out');
    await trimWaiting(world.store, webhook, 9500, world.clock.now());
    await skill('left out too');
    await trimWaiting(world.store, webhook, 8999, world.clock.now());
    const seen = await skill('seen');
    await world.sent(id);
    assert.deepEqual(receiver.events().sort(), [`skill.created ${seen.id} 1`, `webhook.gap ${id}`]);
    const gap = receiver.received.find(({ event }) => event.type === 'webhook.gap');
    assert.equal(gap?.event.timestamp, leavesOutSince);
  });
});

describe('the fields that a webhook asks for', () => {
  it('come with events of records that its owner may read, as they are then, and never with secrets', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const fields = ['name', 'instructions', 'trigger', 'secret', 'hash', 'constructor', '__proto__'];
    const types = [...events, 'flow.created'];
    const { id } = await world.webhook({ target: { url: receiver.url }, events: types, fields });
    const plain = await world.webhook({ target: { url: receiver.url }, events: ['skill.created'] });
    const made = await skill('told');
    const secret = 'a-secret-of-a-flow-0123456789';
    const trigger = { kind: 'webhook', signature: { scheme: 'github', secret } };
    await world.must('create_flow', { name: 'signed', trigger });
    await world.sent(id);
    await world.sent(plain.id);
    const said = receiver.received.map(({ event }) => event);
    const about = said.filter(({ data }) => data.id === made.id).map(({ data }) => data.record);
    assert.deepEqual(
      about.find((one) => one),
      { revision: 1, fields: { name: 'told', instructions: 'the instructions of told' } },
    );
    assert.equal(about.filter((one) => one).length, 1);
    const flow = said.find(({ type }) => type === 'flow.created');
    assert.equal(flow.data.record.fields.trigger.signature.secret, '•••');
    const all = JSON.stringify(said);
    assert.ok(!all.includes(secret), 'no secret');
    await world.must('delete_skill', { id: made.id });
    await world.sent(id);
    assert.equal(receiver.received.at(-1)?.event.data.record, undefined);
  });

  it('are left out where they are too large, and refused for mails', async () => {
    world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const mails = { name: 'x', target: { email: 'a@example.com' }, events, fields: ['name'] };
    assert.match((await world.refused('create_webhook', mails)).error, /^fields: Mails hold no content/);
    const { id } = await world.webhook({
      target: { url: receiver.url },
      events: ['document.created'],
      fields: ['content'],
    });
    await world.must('create_document', { title: 'Large', content: 'a'.repeat(100_000) });
    await world.sent(id);
    assert.deepEqual(receiver.received.at(-1)?.event.data.record, { revision: 1, left: 'too_large' });
  });
});
