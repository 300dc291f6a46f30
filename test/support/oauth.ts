import { createHash, randomBytes, randomInt } from 'node:crypto';
import { send, type WireAnswer } from './http.ts';
import { signIn } from './sign-in.ts';
import { FORM, WebClient, type WebPage } from './web-client.ts';

interface Server {
  readonly baseUrl: string;
  readonly adminKey: string;
}

export interface OAuthAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely
  readonly body: any;
}

export const CALLBACK = 'http://127.0.0.1:33999/callback';

export function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/** A client of the authorization server, made of plain requests. */
export class OAuthClient {
  readonly server: Server;
  readonly clientId: string;
  readonly verifier = randomBytes(32).toString('base64url');
  readonly secret: string | undefined;
  /** The e-mail of whoever agrees; the owner by default. */
  person: string | undefined;

  constructor(server: Server, clientId: string, secret?: string) {
    this.server = server;
    this.clientId = clientId;
    this.secret = secret;
  }

  /** Registers a client. */
  static async registered(server: Server, metadata: object = {}): Promise<OAuthClient> {
    const { status, body } = await register(server, metadata);
    if (status !== 201) throw new Error(`registration: ${JSON.stringify(body)}`);
    return new OAuthClient(server, body.client_id, body.client_secret);
  }

  get resource(): string {
    return `${this.server.baseUrl}/api/v1/mcp`;
  }

  authorizeUrl(parameters: Readonly<Record<string, string | undefined>> = {}): string {
    const url = new URL(`${this.server.baseUrl}/oauth/authorize`);
    const all = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: CALLBACK,
      code_challenge: challengeOf(this.verifier),
      code_challenge_method: 'S256',
      state: 'its-state',
      resource: this.resource,
      ...parameters,
    };
    for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value);
    return url.href;
  }

  /** The address at the client, with the answer, to which a person who allows it is led. */
  async allowed(parameters: Readonly<Record<string, string | undefined>> = {}, entered: Entered = {}): Promise<URL> {
    const browser = await signedIn(this.server, this.person);
    await browser.open(this.authorizeUrl(parameters));
    return decided(browser, { decision: 'allow', give: 'read', ...entered });
  }

  async code(parameters: Readonly<Record<string, string | undefined>> = {}, entered: Entered = {}): Promise<string> {
    const answer = await this.allowed(parameters, entered);
    const code = answer.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${answer}`);
    return code;
  }

  redeem(code: string, changed: Readonly<Record<string, string | undefined>> = {}): Promise<OAuthAnswer> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: CALLBACK,
      code_verifier: this.verifier,
      ...changed,
    });
  }

  refresh(token: string, changed: Readonly<Record<string, string | undefined>> = {}): Promise<OAuthAnswer> {
    return this.token({ grant_type: 'refresh_token', refresh_token: token, ...changed });
  }

  token(form: Readonly<Record<string, string | undefined>>): Promise<OAuthAnswer> {
    return this.post('/oauth/token', form);
  }

  revoke(token: string): Promise<OAuthAnswer> {
    return this.post('/oauth/revoke', { token });
  }

  async post(path: string, form: Readonly<Record<string, string | undefined>>): Promise<OAuthAnswer> {
    const members = new URLSearchParams();
    const own = { client_id: this.clientId, ...(this.secret !== undefined && { client_secret: this.secret }) };
    for (const [name, value] of Object.entries({ ...own, ...form })) if (value !== undefined) members.set(name, value);
    return answerOf(
      await send(`${this.server.baseUrl}${path}`, { method: 'POST', headers: FORM, body: String(members) }),
    );
  }

  /** Tokens of a person who allowed what was asked. */
  async connected(parameters: Readonly<Record<string, string | undefined>> = {}, entered: Entered = {}) {
    const { status, body } = await this.redeem(await this.code(parameters, entered));
    if (status !== 200) throw new Error(`token: ${JSON.stringify(body)}`);
    return body as { access_token: string; refresh_token: string; scope: string; expires_in: number };
  }
}

type Entered = Readonly<Record<string, string>>;

export async function register(
  server: Pick<Server, 'baseUrl'>,
  metadata: object = {},
  from = `203.0.113.${randomInt(1, 255)}`,
): Promise<OAuthAnswer> {
  const body = JSON.stringify({ client_name: 'Test client', redirect_uris: [CALLBACK], ...metadata });
  // Counts where the server trusts the proxy of loopback: registrations are limited by address.
  const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': from };
  return answerOf(await send(`${server.baseUrl}/oauth/register`, { method: 'POST', headers, body }));
}

export function answerOf({ status, headers, text }: WireAnswer): OAuthAnswer {
  const isJson = /json/.test(headers.get('content-type') ?? '');
  return { status, headers, body: isJson ? JSON.parse(text) : text };
}

const sessions = new WeakMap<Server, Map<string | undefined, Promise<string>>>();

/** A browser in which the person is signed in; each person signs in once, as that is limited. */
export async function signedIn(server: Server, email?: string): Promise<WebClient> {
  const known = sessions.get(server) ?? new Map<string | undefined, Promise<string>>();
  sessions.set(server, known);
  const session = known.get(email) ?? signIn(server, email);
  known.set(email, session);
  const browser = new WebClient();
  const [name = '', value = ''] = (await session).split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  return browser;
}

/** Sends the form of the page; the address to which the browser is sent in the end. */
export async function decided(browser: WebClient, entered: Entered): Promise<URL> {
  let left: URL | undefined;
  browser.leave = (url) => {
    left = url;
  };
  const page = await browser.send(entered);
  if (!left) throw new Error(`the browser stayed on ${page.heading}: ${page.text}`);
  return left;
}

export type { WebPage };
