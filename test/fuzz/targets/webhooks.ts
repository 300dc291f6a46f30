import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { errorBody, errorStatus } from '../../../resources/error.ts';
import { callsOf } from '../../support/calls.ts';
import { send } from '../../support/http.ts';
import { startTestServer } from '../../support/server.ts';
import { bytesOf, type Target } from '../target.ts';
import { requireQuiet } from './http.ts';
import { isSendable } from './wire.ts';

const SECRETS: Readonly<Record<string, string>> = {
  github: "It's a Secret to Everybody",
  stripe: 'whsec_test_secret',
  slack: '8f742231b10e8888abcd99yyyzzz85a5',
  standard: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  hmac: 'a secret of more than sixteen letters',
};

/** The parts that each scheme signs. */
const parts: Readonly<Record<string, (at: string, body: Buffer) => readonly (string | Buffer)[]>> = {
  github: (_, body) => [body],
  stripe: (at, body) => [`${at}.`, body],
  slack: (at, body) => [`v0:${at}:`, body],
  standard: (at, body) => [`msg_1.${at}.`, body],
  hmac: (at, body) => [`${at}.`, body],
};

/** Signed deliveries: the scheme, headers, an empty line and the body. `SIGNED` is the right signature and `NOW` the time that it is of. */
export const webhooks: Target = {
  about: 'deliveries to the webhooks of flows, and their signatures',
  sources: [
    'tools/flows/inbound',
    'facade/http/webhook-door.ts',
    'facade/http/body.ts',
    'test/support/webhook-senders.ts',
  ],
  atOnce: 8,
  seeds: [
    'github\ncontent-type: application/json\nx-github-event: push\nx-hub-signature-256: sha256=SIGNED\n\n{"ref":"a"}',
    'github\ncontent-type: application/json\nx-github-event: ping\nx-hub-signature-256: sha256=SIGNED\n\n{"zen":"a"}',
    'github\ncontent-type: application/x-www-form-urlencoded\nx-hub-signature-256: sha256=SIGNED\n\npayload=%7B%22a%22%3A1%7D&b=c',
    'stripe\ncontent-type: application/json\nstripe-signature: t=NOW,v1=SIGNED,v0=x\n\n{"id":"evt_1","type":"a.b","object":"event"}',
    'slack\ncontent-type: application/x-www-form-urlencoded\nx-slack-request-timestamp: NOW\nx-slack-signature: v0=SIGNED\n\ncommand=%2Fa&text=b',
    'slack\ncontent-type: application/json\nx-slack-request-timestamp: NOW\nx-slack-signature: v0=SIGNED\n\n{"type":"url_verification","challenge":"c"}',
    'slack\ncontent-type: application/json\nx-slack-request-timestamp: NOW\nx-slack-signature: v0=SIGNED\n\n{"event_id":"Ev1","event":{"type":"message"}}',
    'standard\ncontent-type: application/json\nwebhook-id: msg_1\nwebhook-timestamp: NOW\nwebhook-signature: v1,x v1,SIGNED v1a,y\n\n{"type":"a"}',
    'standard\ncontent-type: application/cloudevents+json; charset=utf-8\nsvix-id: msg_1\nsvix-timestamp: NOW\nsvix-signature: v1,SIGNED\n\n{"type":"a"}',
    'hmac\ncontent-type: application/json\nx-webhook-timestamp: NOW\nx-webhook-signature: sha256=SIGNED\nuser-agent: a\n\n[1,null]',
    bytesOf(
      'hmac\ncontent-type: application/json\nx-webhook-timestamp: NOW\nx-webhook-signature: SIGNED\n\n{"__proto__":{"ä":1e400}}',
    ),
  ],
  async open() {
    const server = await startTestServer({
      LOG_LEVEL: 'error',
      TRUSTED_PROXIES: 'loopback',
      RATE_LIMIT_PER_MINUTE: '0',
    });
    const { must } = callsOf(server);
    const flows = new Map<string, string>();
    for (const [scheme, secret] of Object.entries(SECRETS)) {
      const trigger = { kind: 'webhook', signature: { scheme, secret } };
      const steps = [{ id: 'a', tool: 'list_skills', arguments: { limit: 1 } }];
      flows.set(scheme, (await must('create_flow', { name: scheme, trigger, steps, maxRunsPerHour: undefined })).id);
    }
    let network = 0;
    return {
      async run(input) {
        network += 1;
        const { scheme, headers, body, mayPass } = delivery(input);
        const from = `10.${(network >> 16) & 255}.${(network >> 8) & 255}.${network & 255}`;
        const answer = await send(`${server.baseUrl}/api/v1/agents/flows/${flows.get(scheme)}/trigger`, {
          method: 'POST',
          headers: { ...headers, 'x-forwarded-for': from },
          body,
        });
        judge(answer, mayPass);
      },
      settled: () => requireQuiet(server),
      close: () => server.close(),
    };
  },
};

function delivery(input: Buffer) {
  const end = input.indexOf('\n\n');
  const [first = '', ...lines] = input.toString('latin1', 0, end < 0 ? input.length : end).split('\n');
  const body = end < 0 ? Buffer.alloc(0) : input.subarray(end + 2);
  const scheme = Object.hasOwn(SECRETS, first) ? first : 'github';
  const at = String(Math.floor(Date.now() / 1000));
  const signature = signed(scheme, at, body);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name = '', value = ''] = /^([\w-]+): ?(.*)$/s.exec(line) ?? [];
    const filled = value.replaceAll('NOW', at).replaceAll('SIGNED', signature);
    if (isSendable(name, filled)) headers[name.toLowerCase()] = filled;
  }
  return { scheme, headers, body, mayPass: lines.some((line) => line.includes('SIGNED')) };
}

function signed(scheme: string, at: string, body: Buffer): string {
  const secret = SECRETS[scheme] ?? '';
  const hmac = createHmac(
    'sha256',
    scheme === 'standard' ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret,
  );
  for (const part of parts[scheme]?.(at, body) ?? []) hmac.update(part);
  return hmac.digest(scheme === 'standard' ? 'base64' : 'hex');
}

function judge({ status, headers, text }: Awaited<ReturnType<typeof send>>, mayPass: boolean): void {
  if (status < 300) assert.ok(mayPass, `let in without its signature: ${text}`);
  if (status < 300 || status === 431) return;
  const said = JSON.parse(text);
  assert.deepEqual(errorBody.strict().parse(said), said);
  assert.equal(status, errorStatus[said.code as keyof typeof errorStatus]);
  assert.notEqual(said.code, 'internal');
  assert.equal(said.requestId, headers.get('x-request-id'));
}
