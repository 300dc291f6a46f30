import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { askMcp, callsOf, mustCall } from '../../support/calls.ts';
import { signedIn } from '../../support/oauth.ts';
import { pluck } from '../../support/pluck.ts';
import { startTestServer } from '../../support/server.ts';
import { signIn } from '../../support/sign-in.ts';
import { callRaw, errorOfCall } from '../../support/upstream.ts';
import type { WebClient } from '../../support/web-client.ts';

/** Two servers of ours: the first one uses the tools of the second one, where each person signs in. */
const [server, other] = await Promise.all([startTestServer(), startTestServer()]);
const { must } = callsOf(server);

interface Person {
  readonly email: string;
  readonly cookie: string;
  readonly browser: WebClient;
}

/** A person with an account at both servers, signed in at both in one browser. */
async function person(email: string): Promise<Person> {
  for (const one of [server, other]) await mustCall(one, one.adminKey, 'create_admin_user', { email, role: 'admin' });
  const cookie = await signIn(server, email);
  const browser = await signedIn(other, email);
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  return { email, cookie, browser };
}

/** Follows the link to the other server, and allows there what is asked. */
async function connect({ browser }: Person, link: string, entered: Record<string, string> = {}): Promise<string> {
  await browser.open(link);
  await browser.send();
  const next = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(browser.page.text)?.[1] ?? '';
  const consent = await browser.open(next.replaceAll('&amp;', '&'));
  assert.equal(consent.url.origin, other.baseUrl, consent.text);
  return (await browser.send({ decision: 'allow', give: 'read', ...entered })).heading;
}

async function linkFor(one: Person): Promise<string> {
  const { error } = await errorOfCall(server, 'other__list_skills', {}, one.cookie);
  return /http\S+link=[\w-]+/.exec(error)?.[0] ?? assert.fail(error);
}

const prompts = async (one: Person): Promise<string[]> =>
  pluck((await askMcp(server, one.cookie, 'prompts/list')).result.prompts, 'name');

describe('a second server of ours as an integration', () => {
  it('is connected by each person for themselves', async () => {
    const input = { name: 'Other', transport: 'http', url: `${other.baseUrl}/api/v1/mcp` };
    const { id } = await must('create_integration', { ...input, auth: 'oauth-per-person' });
    await mustCall(other, other.adminKey, 'create_skill', { name: 'greet', instructions: 'Say hello.' });
    const [ada, bob] = [await person('ada@example.com'), await person('bob@example.com')];
    const { url } = await must('connect_integration', { id }, ada.cookie);
    assert.match(await connect(ada, url), /is connected/);
    await must('refresh_integration', { id, accept: true }, ada.cookie);
    assert.match(await connect(bob, await linkFor(bob)), /is connected/);
    const skills = async (one: Person) => callRaw(server, 'other__list_skills', {}, one.cookie);
    for (const one of [ada, bob]) assert.equal((await skills(one)).structuredContent?.data.length, 1, one.email);
    const apps = (await mustCall(other, other.adminKey, 'list_connected_apps')).data;
    assert.equal(apps.length, 2);
    assert.ok((await prompts(ada)).includes('other__greet'));
    await must('disconnect_integration', { id }, bob.cookie);
    assert.match(JSON.stringify(await skills(bob)), /Connect your own account/);
    assert.equal((await skills(ada)).structuredContent?.data.length, 1);
  });

  it('is connected once for all by an administrator', async () => {
    const input = { name: 'Shared', transport: 'http', url: `${other.baseUrl}/api/v1/mcp`, auth: 'oauth-shared' };
    const { id } = await must('create_integration', input);
    const eve = await person('eve@example.com');
    const { url } = await must('connect_integration', { id }, eve.cookie);
    assert.match(await connect(eve, url), /is connected/);
    await must('refresh_integration', { id, accept: true });
    const { structuredContent } = await callRaw(server, 'shared__list_skills');
    assert.equal(structuredContent?.data.length, 1);
  });
});
