import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { callsOf } from '../support/calls.ts';
import { send } from '../support/http.ts';
import { judgeModule, judgesLack, placeOf } from '../support/judges.ts';
import { serverForTests } from '../support/server.ts';
import { type Sent, slack, stripe, triggerFor } from '../support/webhook-senders.ts';
import { startReceiver, WebhookWorld } from '../support/webhook-world.ts';

const skip = judgesLack('stripe', 'svix', '@octokit/webhooks-methods', '@slack/bolt') ?? false;
const server = serverForTests();
const { must } = callsOf(server);

// biome-ignore lint/suspicious/noExplicitAny: packages of others, without their types
type Package = any;

/** How a vendor's own library signs a text at a time in seconds, as its servers would send it. */
type Sign = (body: string, at: number) => Promise<Sent> | Sent;

const JSON_TYPE = { 'content-type': 'application/json' };
const STANDARD_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const libraries: Record<
  string,
  { readonly scheme: string; readonly secret: string; readonly timed: boolean; sign?: Sign }
> = {
  'stripe (generateTestHeaderString)': { scheme: 'stripe', secret: stripe.secret, timed: true },
  'svix (sign)': { scheme: 'standard', secret: STANDARD_SECRET, timed: true },
  'octokit (sign)': { scheme: 'github', secret: 'a secret of twenty characters', timed: false },
  'slack (verified by Bolt)': { scheme: 'slack', secret: slack.secret, timed: true },
};

describe("vendors' own libraries for webhooks", { skip }, () => {
  let svix: Package;
  before(async () => {
    const load = async (name: string): Promise<Package> => import(judgeModule(name));
    svix = await load('svix');
    const { default: Stripe } = await load('stripe');
    const octokit: Package = await import(
      pathToFileURL(join(placeOf('@octokit/webhooks-methods'), 'dist-node/index.js')).href
    );
    const bolt = await load('@slack/bolt/dist/receivers/verify-request.js');
    const signers: Record<string, Sign> = {
      stripe: (body, at) => {
        const { secret } = stripe;
        const signature = Stripe.webhooks.generateTestHeaderString({ payload: body, secret, timestamp: at });
        return { headers: { ...JSON_TYPE, 'stripe-signature': signature }, body };
      },
      standard: (body, at) => {
        const [id, time] = [`msg_${body.length}_${at}`, new Date(at * 1000)];
        const signature = new svix.Webhook(STANDARD_SECRET).sign(id, time, body);
        const signed = { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature };
        return { headers: { ...JSON_TYPE, ...signed }, body };
      },
      github: async (body) => {
        const signature = await octokit.sign('a secret of twenty characters', body);
        return { headers: { ...JSON_TYPE, 'x-github-event': 'push', 'x-hub-signature-256': signature }, body };
      },
      slack: (body, at) => {
        const sent = slack.sign(body, at);
        const options = { signingSecret: slack.secret, body, headers: sent.headers, nowMilliseconds: at * 1000 };
        bolt.verifySlackRequest(options); // throws where Slack's own check refuses it
        return sent;
      },
    };
    for (const library of Object.values(libraries)) Object.assign(library, { sign: signers[library.scheme] });
  });

  for (const [name, library] of Object.entries(libraries)) {
    it(`${name}: a signed delivery begins one run; a changed, late or repeated one begins none`, async () => {
      const { sign = assert.fail('loaded before'), timed } = library;
      const steps = [{ id: 'a', tool: 'list_agents', arguments: {} }];
      const { id } = await must('create_flow', { name: 'hook', trigger: triggerFor(library), steps });
      const post = async ({ headers, body }: Sent) => {
        const url = `${server.baseUrl}/api/v1/agents/flows/${id}/trigger`;
        return (await send(url, { method: 'POST', headers: { ...headers }, body })).status;
      };
      const runs = async () => (await must('list_flow_runs', { id })).data.length;
      const now = Math.floor(server.clock.now().getTime() / 1000);
      const right = await sign('{"text": "Grüße, 世界 🙂", "n": 1.50}', now);
      assert.equal(Math.floor((await post(right)) / 100), 2);
      assert.equal(await runs(), 1);
      assert.equal(await post(right), 200, 'a repeated one is answered');
      assert.equal(await post({ ...right, body: right.body.replace('1.50', '1.5') }), 401);
      if (timed) {
        assert.equal(await post(await sign('{"n": 2}', now - 301)), 401);
        assert.equal(await post(await sign('{"n": 3}', now + 600)), 401);
      }
      assert.equal(await runs(), 1);
    });
  }

  it('svix verifies what is sent, and refuses it changed or with another secret', async () => {
    const world = await WebhookWorld.open();
    const receiver = await startReceiver();
    const { id, secret } = await world.webhook({ target: { url: receiver.url }, events: ['skill.created'] });
    const words = 'Grüße, 世界 🙂';
    await world.must('create_skill', { name: 'greet', description: words, instructions: words });
    await world.sent(id);
    const [{ headers, body } = assert.fail('nothing came')] = receiver.received;
    const webhook = new svix.Webhook(secret);
    assert.doesNotThrow(() => webhook.verify(body, headers));
    assert.throws(() => webhook.verify(body.replace('skill', 'Skill'), headers));
    assert.throws(() => new svix.Webhook(STANDARD_SECRET).verify(body, headers));
    assert.throws(() => webhook.verify(body, { ...headers, 'webhook-timestamp': '1' }));
  });
});
