import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mustCall } from '../../support/calls.ts';
import { send } from '../../support/http.ts';
import { answerOf, CALLBACK, decided, OAuthClient, signedIn } from '../../support/oauth.ts';
import { serverForTests } from '../../support/server.ts';
import { writing } from '../../support/writing.ts';

/** Requests are counted by address. */
const server = serverForTests({ TRUSTED_PROXIES: 'loopback' });
let known: Promise<OAuthClient> | undefined;

const ELSEWHERE = '203.0.113.9';

type Parameters = Readonly<Record<string, string | undefined>>;

/** What the authorization endpoint answers, and where it sends the browser. */
async function asked(parameters: Parameters, change: (url: URL) => void = () => {}, from = '127.0.0.1') {
  known ??= OAuthClient.registered(server);
  const url = new URL((await known).authorizeUrl(parameters));
  change(url);
  const response = await send(url.href, { headers: { Accept: 'text/html', 'X-Forwarded-For': from } });
  const location = response.headers.get('location');
  return { ...answerOf(response), to: location === null ? undefined : new URL(location, server.baseUrl) };
}

function error(to: URL | undefined) {
  assert.ok(to, 'the client is told');
  assert.equal(to.origin + to.pathname, CALLBACK);
  const answer = new URLSearchParams(to.search || to.hash.slice(1));
  assert.equal(answer.get('iss'), server.baseUrl);
  assert.equal(answer.get('state'), 'its-state');
  assert.equal(answer.get('code'), null);
  return answer.get('error');
}

describe('the authorization endpoint', () => {
  it('asks the person on a page of ours, with a cookie for this request alone', async () => {
    const { status, headers, to } = await asked({});
    assert.equal(status, 303);
    assert.match(to?.pathname ?? '', /^\/oauth\/consent\/[\w-]+$/);
    assert.equal(headers.get('cache-control'), 'no-store');
    const cookies = headers.getSetCookie();
    assert.ok(
      cookies.some((each) => each.includes(`path=${to?.pathname};`) && /httponly/i.test(each)),
      String(cookies),
    );
  });

  it('sends nobody to an address that is not registered to the letter', async () => {
    const { port } = new URL(CALLBACK);
    for (const redirect of [
      `${CALLBACK}/more`,
      `${CALLBACK}?x=1`,
      `${CALLBACK}#x`,
      CALLBACK.replace('/callback', '/Callback'),
      CALLBACK.replace('/callback', '/callback/../callback'),
      CALLBACK.replace('/callback', '/callbac'),
      CALLBACK.replace('127.0.0.1', 'user@127.0.0.1'),
      CALLBACK.replace('127.0.0.1', '127.0.0.1.evil.example'),
      CALLBACK.replace(`127.0.0.1:${port}`, `evil.example#@127.0.0.1:${port}`),
      CALLBACK.replace('127.0.0.1', 'localhost'),
      CALLBACK.replace('http:', 'https:'),
      'https://evil.example/callback',
      'javascript:alert(1)',
      '//evil.example',
      '',
      undefined,
    ]) {
      const { status, headers, to, body } = await asked({ redirect_uri: redirect });
      assert.deepEqual([status, to], [400, undefined], redirect);
      assert.match(headers.get('content-type') ?? '', /html/);
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
      assert.match(body, /This app cannot be connected/);
    }
    const twice = await asked({}, (url) => url.searchParams.append('redirect_uri', 'https://evil.example'));
    assert.equal(twice.status, 400);
  });

  it('leads nobody to a web page of a client that anybody could have registered, before the person was asked', async () => {
    for (const page of [
      'https://stranger.example/callback',
      'cursor://stranger.example/callback',
      'com.stranger.example://localhost/callback',
    ]) {
      await leadsNobodyTo(page);
    }
  });

  async function leadsNobodyTo(page: string): Promise<void> {
    const stranger = await OAuthClient.registered(server, { redirect_uris: [page] });
    const wrong = [
      { prompt: 'none' },
      { code_challenge: undefined },
      { response_type: 'token' },
      { resource: 'https://other.example/mcp' },
      { request: 'x' },
      { response_mode: 'form_post' },
      { response_mode: 'fragment' },
    ];
    for (const parameters of wrong) {
      const answer = await asked(
        { client_id: stranger.clientId, redirect_uri: page, ...parameters },
        () => {},
        ELSEWHERE,
      );
      const place = JSON.stringify(parameters);
      assert.deepEqual([answer.status, answer.to, answer.headers.get('location')], [400, undefined, null], place);
      assert.match(answer.body, /<h1>This app cannot be connected/, place);
      assert.doesNotMatch(answer.body, /stranger\.example/, place);
    }
    const made = { name: 'Made', redirectUris: [page], confidential: false };
    const { clientId } = await mustCall(server, server.adminKey, 'create_oauth_client', made);
    const { to } = await asked({ client_id: clientId, redirect_uri: page, prompt: 'none' }, () => {}, ELSEWHERE);
    assert.equal(to?.searchParams.get('error'), 'consent_required');
    const browser = await signedIn(server);
    await browser.open(stranger.authorizeUrl({ redirect_uri: page }));
    assert.equal((await decided(browser, { decision: 'deny' })).searchParams.get('error'), 'access_denied');
  }

  it('knows no address of a stored client that is refused today, unless an administrator made the client', async () => {
    const refused = 'steam://run/1';
    for (const kind of ['registered', 'made'] as const) {
      const clientId = `ocl_${kind}`;
      await writing(server.store).oauthClients.insert({
        clientId,
        kind,
        name: kind,
        redirectUris: [CALLBACK, refused],
        metadata: {},
      });
      const at = (redirect_uri: string) => asked({ client_id: clientId, redirect_uri }, () => {}, ELSEWHERE);
      assert.equal((await at(CALLBACK)).status, 303);
      assert.equal((await at(refused)).status, kind === 'made' ? 303 : 400);
    }
  });

  it('takes any port of a loopback address (RFC 8252)', async () => {
    assert.equal((await asked({ redirect_uri: CALLBACK.replace(/:\d+/, ':1234') })).status, 303);
    assert.equal((await asked({ redirect_uri: CALLBACK.replace(/:\d+/, '') })).status, 303);
  });

  it('tells the person, not the address, about a client that it does not know', async () => {
    const { status, to, body } = await asked({ client_id: 'ocl_none', redirect_uri: 'https://evil.example' });
    assert.deepEqual([status, to], [400, undefined]);
    assert.match(body, /client is invalid/);
  });

  it('wants PKCE with S256', async () => {
    for (const wrong of [
      { code_challenge: undefined },
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
      { code_challenge_method: undefined },
      { code_challenge: 'short' },
    ]) {
      assert.equal(error((await asked(wrong)).to), 'invalid_request', JSON.stringify(wrong));
    }
  });

  it('takes one resource of ours, by any spelling, and the unified endpoint where none is named', async () => {
    const other = server.baseUrl.replace('127.0.0.1', 'localhost');
    for (const resource of [undefined, `${server.baseUrl}/api/v1/mcp?groups=agents`, `${other}/api/v1/mcp`]) {
      assert.equal((await asked({ resource })).status, 303, resource);
    }
    for (const resource of [
      'https://evil.example/api/v1/mcp',
      `${server.baseUrl}/api/v1/agents`,
      `${server.baseUrl}/api/v1/mcp/`,
      `${server.baseUrl}/api/v1/mcp#x`,
      `${server.baseUrl.replace('//', '//user@')}/api/v1/mcp`,
      server.baseUrl,
      'nonsense',
    ]) {
      assert.equal(error((await asked({ resource })).to), 'invalid_target', resource);
    }
    const two = await asked({}, (url) =>
      url.searchParams.append('resource', `${server.baseUrl}/api/capsules/cap_01hzzzzzzzzzzzzzzzzzzzzzzz/mcp`),
    );
    assert.equal(error(two.to), 'invalid_target');
  });

  it('gives codes alone, in the query', async () => {
    for (const type of ['token', 'code id_token', 'none']) {
      assert.match(
        error((await asked({ response_type: type })).to) ?? '',
        /^(unsupported_response_type|invalid_request)$/,
      );
    }
    for (const mode of ['form_post', 'fragment']) {
      const { status, to } = await asked({ response_mode: mode });
      assert.ok(status !== 303 || !/consent/.test(String(to)), mode);
    }
  });

  it('ignores what OpenID clients add', async () => {
    const more = {
      nonce: 'n',
      max_age: '0',
      prompt: 'select_account',
      id_token_hint: 'x',
      acr_values: 'x',
      claims: '{}',
      scope: 'openid profile offline_access',
    };
    const { to, status } = await asked(more);
    assert.deepEqual([status, /consent/.test(String(to))], [303, true]);
    assert.equal(error((await asked({ prompt: 'none' })).to), 'consent_required');
  });

  it('limits how often one address may ask', async () => {
    const answers = await Promise.all(Array.from({ length: 70 }, () => asked({})));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0);
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 0);
    assert.match(refused[0]?.body, /requests to connect/);
  });
});

describe('the answer of the person', () => {
  const patient = serverForTests();
  const other = async () => OAuthClient.registered(patient);

  it('is sent back with state and issuer', async () => {
    const to = await (await other()).allowed();
    assert.equal(to.searchParams.get('iss'), patient.baseUrl);
    assert.equal(to.searchParams.get('state'), 'its-state');
    assert.match(to.searchParams.get('code') ?? '', /^[\w-]{43,}$/);
  });

  it('waits in several tabs at a time', async () => {
    const [one, two] = [await other(), await other()];
    const browser = await signedIn(patient);
    await browser.open(one.authorizeUrl({ state: 'one' }));
    const first = browser.page.url;
    await browser.open(two.authorizeUrl({ state: 'two' }));
    const second = await decided(browser, { decision: 'allow', give: 'read' });
    await browser.open(first.href);
    const answer = await decided(browser, { decision: 'allow', give: 'read' });
    assert.deepEqual([second.searchParams.get('state'), answer.searchParams.get('state')], ['two', 'one']);
    assert.equal((await one.redeem(answer.searchParams.get('code') ?? '')).status, 200);
  });

  it('is not remembered: the next request asks again', async () => {
    const asking = await other();
    const browser = await signedIn(patient);
    for (const _ of [1, 2]) {
      await browser.open(asking.authorizeUrl());
      assert.match(browser.page.url.pathname, /^\/oauth\/consent\//);
      await decided(browser, { decision: 'allow', give: 'read' });
    }
  });
});
