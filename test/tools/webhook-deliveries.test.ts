import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FlowRun } from '../../resources/flow-run.ts';
import { type InboundRequest, WebhookReceiver } from '../../tools/flows/inbound/receiver.ts';
import { systemClock } from '../../tools/flows/run/clock.ts';
import { FlowWorld } from '../support/flow-world.ts';
import { pluck } from '../support/pluck.ts';
import { until } from '../support/until.ts';
import {
  generic,
  github,
  type Sender,
  type Sent,
  senders,
  slack,
  standard,
  stripe,
  triggerFor,
} from '../support/webhook-senders.ts';
import { writing } from '../support/writing.ts';

const DAY = 24 * 3_600_000;
const MINUTES_5 = 300_000;

let receiver: WebhookReceiver;
let now: number;

const open = () => {
  receiver = new WebhookReceiver({
    store: world.store,
    registry: world.registry,
    now: () => new Date(now),
    onFailure: (cause) => assert.fail(String(cause)),
  });
};
now = Date.now();
const world = await FlowWorld.open({ clock: { ...systemClock, now: () => new Date(now) } });
open();

const STEPS = [{ id: 'a', tool: 'list_agents', arguments: {} }];
const flowFor = (sender: Pick<Sender, 'scheme' | 'secret'>, members: object = { steps: STEPS }) =>
  world.flow({ trigger: triggerFor(sender), ...members });

function came(flowId: string, { headers, body }: Sent): InboundRequest {
  return { flowId, header: (name) => headers[name], body: Buffer.from(body), requestId: 'test' };
}

/** What the sender is answered: a status, an error code, or that it is not known. */
async function send(flowId: string, sent: Sent): Promise<number | string> {
  const reply = await receiver.receive(came(flowId, sent));
  if (!reply) return 'unknown';
  return 'error' in reply ? reply.error.code : reply.status;
}

const seconds = () => Math.floor(now / 1000);
const accepted = ({ scheme }: Sender) => (scheme === 'slack' ? 200 : 202);

async function ended(flowId: string): Promise<FlowRun[]> {
  await until(async () => (await world.runs(flowId)).every(({ finishedAt }) => finishedAt));
  return world.runs(flowId);
}

async function deliveries(id: string, input: object = {}, principal = world.admin) {
  await receiver.close(); // writes what is counted
  open();
  return (await world.must('list_flow_deliveries', { id, ...input }, principal)).data;
}

const outcomes = async (id: string) =>
  (await deliveries(id)).map(({ outcome, count }: { outcome: string; count: number }) => `${count} ${outcome}`);

describe('a recorded delivery', () => {
  const isKnown = (answer: number | string) => answer !== 'unknown';

  for (const sender of senders) {
    const { scheme, recorded } = sender;

    it(`of ${scheme} verifies, and is the input of the run`, async () => {
      now = recorded.at * 1000;
      const { id } = await flowFor(sender);
      const answer = await send(id, recorded);
      if (recorded.input === undefined) return assert.equal(answer, 'invalid_input'); // signed well, and no JSON
      assert.equal(answer, accepted(sender));
      const [run, ...others] = await ended(id);
      assert.deepEqual([run?.input, run?.trigger.kind, others.length], [recorded.input, 'webhook', 0]);
    });

    it(`of ${scheme} does not verify with anything changed, or for another flow`, async () => {
      now = recorded.at * 1000;
      const { id } = await flowFor(sender);
      const other = await flowFor({ scheme, secret: `${sender.secret.slice(0, -1)}z` });
      const { headers, body } = recorded;
      const signed = Object.keys(headers).filter((name) => name !== 'content-type');
      const changes: Sent[] = [
        { headers, body: `${body} ` },
        { headers, body: body.replace(/[a-z]/, 'q') },
        { headers, body: '' },
        ...signed.map((name) => ({ headers: { ...headers, [name]: `${headers[name]}0` }, body })),
        ...signed.map((name) => ({ headers: { ...headers, [name]: headers[name]?.replace(/\d/, 'x') ?? '' }, body })),
        ...signed.map((name) => ({ headers: { ...headers, [name]: '' }, body })),
        ...signed.map((name) => ({
          headers: Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name)),
          body,
        })),
      ];
      for (const change of changes) assert.equal(await send(id, change), 'unknown', JSON.stringify(change));
      assert.equal(await send(other.id, recorded), 'unknown');
      assert.equal(await send('flw_none', recorded), 'unknown');
      assert.deepEqual(await world.runs(id), []);
      assert.ok(isKnown(await send(id, recorded)));
    });

    it(`of ${scheme} ${scheme === 'github' ? 'has no time' : 'is taken up to 5 minutes from when it was signed'}`, async () => {
      const hasTime = scheme !== 'github';
      for (const away of [-MINUTES_5 - 1, MINUTES_5 + 1, DAY]) {
        const { id } = await flowFor(sender);
        now = recorded.at * 1000 + away;
        assert.equal(isKnown(await send(id, recorded)), !hasTime, `${away} ms away`);
        if (hasTime) assert.deepEqual(await outcomes(id), ['1 late']);
      }
      for (const away of [-MINUTES_5, MINUTES_5]) {
        const { id } = await flowFor(sender);
        now = recorded.at * 1000 + away;
        assert.ok(isKnown(await send(id, recorded)), `${away} ms away`);
      }
    });
  }

  it('of Stripe and of Standard Webhooks may have several signatures, and one time', async () => {
    const { headers, body, at } = stripe.recorded;
    now = at * 1000;
    const { id } = await flowFor(stripe);
    const given = headers['stripe-signature'];
    const header = (text: string) => ({ headers: { ...headers, 'stripe-signature': text }, body });
    assert.equal(await send(id, header(`t=1,${given}`)), 'unknown');
    assert.equal(await send(id, header(`${given}, ${given}`)), 'unknown');
    assert.equal(await send(id, header(String(given).replace('v1=', 'v0='))), 'unknown');
    assert.equal(await send(id, header(`v1=potato,${given},v0=potato`)), 202);
    const hook = await flowFor(standard);
    now = standard.recorded.at * 1000;
    const name = 'webhook-signature';
    const signature = `v1a,x v1,x ${standard.recorded.headers[name]}`;
    assert.equal(
      await send(hook.id, { ...standard.recorded, headers: { ...standard.recorded.headers, [name]: signature } }),
      202,
    );
  });

  it('of a sender with the older names of the headers of Standard Webhooks verifies', async () => {
    const { headers, body, at } = standard.recorded;
    now = at * 1000;
    const { id } = await flowFor(standard);
    const old = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
    );
    assert.equal(await send(id, { headers: old, body }), 202);
  });
});

describe('a repeat', () => {
  it('of a delivery is answered with 200 and begins nothing, for 30 days', async () => {
    for (const sender of senders) {
      now = Date.now();
      const { id } = await flowFor(sender);
      const body = { scheme: sender.scheme, id: 'evt_1', event_id: 'Ev1' };
      const sent = sender.sign(JSON.stringify(body), seconds());
      assert.equal(await send(id, sent), accepted(sender));
      assert.equal(await send(id, sent), 200);
      now += MINUTES_5 - 1000;
      assert.equal(await send(id, sent), 200);
      // A sender who tries again signs the time of that.
      if (sender !== generic) {
        now += 20 * DAY;
        assert.equal(await send(id, sender.sign(JSON.stringify(body), seconds())), 200);
      }
      assert.equal((await ended(id)).length, 1, sender.scheme);
      const [kept] = await deliveries(id);
      assert.deepEqual([kept.outcome, kept.count], ['run', sender === generic ? 3 : 4]);
      assert.equal(await send(id, sender.sign('{"id": "evt_2", "event_id": "Ev2"}', seconds())), accepted(sender));
      const other = await flowFor(sender);
      assert.equal(await send(other.id, sender.sign(JSON.stringify(body), seconds())), accepted(sender));
    }
  });

  it('that comes at the same time begins nothing', async () => {
    now = Date.now();
    const { id } = await flowFor(github);
    const sent = github.sign('{"n": 1}', 0);
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(id, sent)));
    assert.deepEqual(answers.sort(), [...Array(9).fill(200), 202]);
    assert.equal((await ended(id)).length, 1);
    assert.deepEqual(await outcomes(id), ['10 run']);
  });

  it('of one that was refused begins the run', async () => {
    now = Date.now();
    const { id } = await flowFor(stripe);
    const sent = stripe.sign('{"id": "evt_1"}', seconds());
    await world.must('update_flow', { id, enabled: false });
    assert.equal(await send(id, sent), 'conflict');
    await world.must('update_flow', { id, enabled: true });
    assert.equal(await send(id, sent), 202);
    assert.equal(await send(id, sent), 200);
    assert.deepEqual((await outcomes(id)).sort(), ['1 refused', '2 run']);
  });
});

describe('what a webhook brings', () => {
  it('is the input whatever JSON it is, with the characters that were signed', async () => {
    now = Date.now();
    for (const input of [{ text: 'é 日本 😀 \u202e' }, [1, { a: 2 }], 'text', 5, true, false, null, {}]) {
      const { id } = await flowFor(github, {
        steps: [{ id: 'a', tool: 'search', arguments: { q: '{{ input }}.' } }],
      });
      assert.equal(await send(id, github.sign(JSON.stringify(input), 0)), 202);
      const [run] = await ended(id);
      assert.deepEqual(run?.steps[0]?.input, {
        q: `${typeof input === 'object' && input ? JSON.stringify(input) : (input ?? '')}.`,
      });
    }
  });

  it('is read from the forms of GitHub and Slack, and from no other type', async () => {
    now = Date.now();
    const payload = { n: 3, text: 'é & +' };
    const body = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
    const form = (sender: Sender, text: string): Sent => {
      const { headers } = sender.sign(text, seconds());
      return { headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' }, body: text };
    };
    for (const sender of [github, slack]) {
      const { id } = await flowFor(sender);
      assert.equal(await send(id, form(sender, body)), accepted(sender));
      assert.deepEqual((await ended(id))[0]?.input, payload);
      assert.equal(await send(id, form(sender, 'payload={')), 'invalid_input');
    }
    const { id } = await flowFor(generic);
    assert.equal(await send(id, form(generic, body)), 'unsupported_media_type');
    for (const [type, status] of [
      ['text/plain', 'unsupported_media_type'],
      ['application/cloudevents+json; charset=utf-8', 202],
      ['APPLICATION/JSON', 202],
    ] as const) {
      const sent = generic.sign(`{"type": "${type}"}`, seconds());
      assert.equal(await send(id, { ...sent, headers: { ...sent.headers, 'content-type': type } }), status, type);
    }
  });

  it('is refused by the reason where it is no JSON, or more than a run keeps', async () => {
    now = Date.now();
    const { id } = await flowFor(generic);
    const deep = '['.repeat(5000) + ']'.repeat(5000);
    const long = JSON.stringify({ text: 'x'.repeat(256 * 1024) });
    for (const body of ['{', '', 'undefined', '"\\ud800"', '{"__proto__": 1}', deep, long]) {
      assert.equal(await send(id, generic.sign(body, seconds())), 'invalid_input', body.slice(0, 20));
    }
    const { headers } = generic.sign('\ufffd', seconds());
    assert.equal(await send(id, { headers, body: '\ufffd' }), 'invalid_input');
    assert.equal((await world.runs(id)).length, 0);
    const reasons = new Set(pluck(await deliveries(id), 'reason'));
    assert.ok(reasons.size > 2, [...reasons].join('\n'));
  });

  it('is answered where the sender only tries the address', async () => {
    now = Date.now();
    const hook = await flowFor(slack);
    const challenge = '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P';
    const asked = slack.sign(JSON.stringify({ token: 'x', challenge, type: 'url_verification' }), seconds());
    assert.deepEqual(await receiver.receive(came(hook.id, asked)), { status: 200, body: { challenge } });
    assert.deepEqual(await outcomes(hook.id), ['1 challenge']);
    const repository = await flowFor(github);
    const ping = github.sign(JSON.stringify({ zen: 'Speak like a human.', hook_id: 1 }), 0);
    assert.equal(await send(repository.id, { ...ping, headers: { ...ping.headers, 'x-github-event': 'ping' } }), 200);
    assert.deepEqual(await outcomes(repository.id), ['1 ping']);
    const disguised = github.sign('{"ref": "main"}', 0);
    assert.equal(
      await send(repository.id, { ...disguised, headers: { ...disguised.headers, 'x-github-event': 'ping' } }),
      202,
    );
  });
});

describe('the sender of a delivery', () => {
  it('is in the audit log as the webhook of the flow, and may do nothing else', async () => {
    now = Date.now();
    const { id } = await flowFor(github);
    assert.equal(await send(id, github.sign('{"secret word": 1}', 0)), 202);
    const [run] = await ended(id);
    const { data } = await world.must('list_audit_entries', { door: 'webhook', recordId: id });
    assert.deepEqual(data[0].principal, { type: 'webhook', id, name: 'github webhook' });
    assert.deepEqual([data[0].tool, data[0].outcome], ['receive_webhook', 'ok']);
    assert.deepEqual(run?.trigger, { kind: 'webhook', by: data[0].principal });
  });

  it('is told nothing of why the flow does not run, which its list says to those who may see it', async () => {
    now = Date.now();
    const owner = await world.key(['flows:write', 'agents:read']);
    const { id } = await world.flow({ trigger: triggerFor(stripe), steps: STEPS }, owner);
    const sent = (n: number) => stripe.sign(`{"id": "evt_${n}"}`, seconds());
    await writing(world.store).adminUsers.update(owner.ownerId, { isActive: false });
    const reply = await receiver.receive(came(id, sent(1)));
    assert.ok(reply && 'error' in reply && reply.error.code === 'conflict', JSON.stringify(reply));
    assert.ok(!JSON.stringify(reply).includes(owner.name) && !JSON.stringify(reply).includes('deactivated'));
    const [refused] = await deliveries(id);
    assert.match(refused.reason, /deactivated/);
    const reader = await world.key(['flows:read']);
    assert.equal((await deliveries(id, {}, reader))[0].reason, undefined);
    await world.must('delete_flow', { id });
    assert.equal(await send(id, sent(2)), 'unknown');
  });

  it('of many bad signatures has few of them listed, each counted', async () => {
    now = Date.now();
    const { id } = await flowFor(github);
    const { headers } = github.sign('{}', 0);
    for (let n = 0; n < 20; n += 1) assert.equal(await send(id, { headers, body: `{"n": ${n}}` }), 'unknown');
    assert.deepEqual(await outcomes(id), ['20 bad_signature']);
  });
});

describe('list_flow_deliveries', () => {
  it('shows what was sent to runAs and admins alone, with the run that it began', async () => {
    now = Date.now();
    const owner = await world.key(['flows:write', 'flows:read', 'agents:read']);
    const { id } = await world.flow({ trigger: triggerFor(github), steps: STEPS }, owner);
    await send(id, github.sign('{"word": "hidden"}', 0));
    const [run] = await ended(id);
    const reader = await world.key([], [`flow:read:${id}`]);
    for (const [principal, body] of [
      [world.admin, { word: 'hidden' }],
      [owner, { word: 'hidden' }],
      [reader, undefined],
    ] as const) {
      const [shown] = await deliveries(id, { outcome: 'run' }, principal);
      assert.deepEqual([shown.runId, shown.event, shown.scheme, shown.body], [run?.id, 'push', 'github', body]);
    }
    assert.deepEqual(await deliveries(id, { outcome: 'refused' }), []);
    const foreign = await world.key([], ['flow:read:flw_other']);
    assert.ok('error' in (await world.call('list_flow_deliveries', { id }, foreign)));
  });

  it('goes with the flow when that is purged', async () => {
    now = Date.now();
    const { id } = await flowFor(github);
    await send(id, github.sign('{"n": 1}', 0));
    await ended(id);
    await world.must('purge_record', { entityType: 'flow', id });
    assert.equal(await world.store.flowDeliveries.count({ where: { flowId: id } }), 0);
    assert.equal(await world.store.flowSecrets.get(id), undefined);
  });
});

describe('an acknowledged delivery', () => {
  it('is not lost where the server ends before the run begins', async () => {
    now = Date.now();
    const { id } = await flowFor(github);
    const { flows } = world.registry.server;
    assert.ok(flows);
    const wake = flows.wake;
    Object.assign(flows, { wake() {} }); // it ends here
    assert.equal(await send(id, github.sign('{"n": 1}', 0)), 202);
    Object.assign(flows, { wake });
    assert.deepEqual(pluck(await world.runs(id), 'status'), ['queued']);
    await receiver.close();
    await world.restart();
    open();
    assert.deepEqual(pluck(await ended(id), 'status', 'input'), [['succeeded', { n: 1 }]]);
    assert.equal(await send(id, github.sign('{"n": 1}', 0)), 200);
  });
});
