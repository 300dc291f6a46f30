import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import { type Configuration, Provider } from 'oidc-provider';
import { onLoopback } from './loopback.ts';
import { reply } from './upstream.ts';

// biome-ignore lint/suspicious/noExplicitAny: a fake server looks into messages freely
type Message = any;

/** An MCP server that wants tokens of an OAuth provider, and the provider, both on one port of loopback. */
export interface OAuthUpstream {
  readonly url: string;
  readonly issuer: string;
  /** The person who agrees at the provider at once. Undefined: the person says no. */
  person: string | undefined;
  /** The methods of the messages that came with a token, each with the person it is of. */
  readonly requests: { readonly method: string; readonly person: string }[];
  /** The grant types of all answers of the token endpoint. */
  readonly grants: string[];
  /** The tokens that were ended on request. */
  readonly revoked: string[];
  /** Every token it gave out. */
  readonly tokens: string[];
  /** Clients that registered themselves. */
  registrations: number;
  /** Refuses from now on all access tokens given before. */
  refuseTokens(): void;
  /** The refresh tokens of before work no more. */
  endRefreshTokens(): Promise<void>;
  /** The scope that calls need from now on. */
  needs: string | undefined;
  /** Changes the answer of the provider before it goes back. */
  callback: ((url: URL) => void) | undefined;
  /** Answers the MCP request of the person, which came with the token, where it returns other than undefined. */
  answer: (message: Message, person: string, token: string) => object | undefined | Promise<object | undefined>;
  /** Members of the provider's metadata in place of its own. */
  metadata: Record<string, unknown>;
  close(): Promise<void>;
}

interface Options {
  readonly clients?: object[];
  readonly registration?: boolean;
}

export async function startOAuthUpstream({ clients = [], registration = true }: Options = {}): Promise<OAuthUpstream> {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => {};
  const server = createServer((request, response) => {
    Promise.resolve(handle(request, response)).catch((error) => {
      console.error(error);
      response.destroy();
    });
  });
  const { url: issuer, close } = await onLoopback(server);
  const provider = await providerAt(issuer, clients, registration);
  const serve = provider.callback();
  const refused = new Set<string>();
  const seen = new Set<string>();
  const refreshes = new Set<string>();
  const upstream: OAuthUpstream = {
    url: `${issuer}/mcp`,
    issuer,
    person: undefined,
    requests: [],
    grants: [],
    revoked: [],
    tokens: [],
    registrations: 0,
    refuseTokens() {
      for (const token of seen) refused.add(token);
    },
    async endRefreshTokens() {
      for (const token of refreshes) await (await provider.RefreshToken.find(token))?.destroy();
    },
    needs: undefined,
    callback: undefined,
    answer: () => undefined,
    metadata: {},
    close,
  };
  provider.on('grant.success', (context) => {
    const body = context.body as { access_token?: string; refresh_token?: string };
    if (body.access_token) seen.add(body.access_token);
    if (body.refresh_token) refreshes.add(body.refresh_token);
    upstream.tokens.push(...[body.access_token, body.refresh_token].filter((token) => token !== undefined));
    upstream.grants.push(String(context.oidc.params?.grant_type));
  });
  provider.on('registration_create.success', () => {
    upstream.registrations += 1;
  });
  provider.on('access_token.destroyed', (token) => upstream.revoked.push(`access ${token.accountId}`));
  provider.on('refresh_token.destroyed', (token) => upstream.revoked.push(`refresh ${token.accountId}`));

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(request, response);
    const { person } = upstream;
    if (person === undefined) {
      const error = { error: 'access_denied', error_description: 'The person said <b>no</b>.' };
      return provider.interactionFinished(request, response, error);
    }
    const grant = new provider.Grant({ accountId: person, clientId: String(params.client_id) });
    const scope = String(params.scope ?? 'data');
    grant.addOIDCScope(scope);
    grant.addResourceScope(`${issuer}/mcp`, scope);
    const consent = { grantId: await grant.save() };
    await provider.interactionFinished(request, response, { login: { accountId: person, remember: false }, consent });
  }

  async function serveMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text ? JSON.parse(text) : {};
    const secret = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    const token = refused.has(secret) ? undefined : await provider.AccessToken.find(secret);
    const metadata = `resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`;
    if (!token) {
      response.writeHead(401, { 'WWW-Authenticate': `Bearer ${metadata}, scope="data"` }).end('{}');
      return;
    }
    const { needs } = upstream;
    if (needs !== undefined && message.method === 'tools/call' && !token.scope?.split(' ').includes(needs)) {
      const challenge = `Bearer error="insufficient_scope", scope="${needs}", ${metadata}`;
      response.writeHead(403, { 'WWW-Authenticate': challenge }).end('{}');
      return;
    }
    const person = token.accountId ?? '';
    upstream.requests.push({ method: message.method ?? request.method, person });
    if (message.id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    reply(response, message.id, (await upstream.answer(message, person, secret)) ?? resultFor(message, person));
  }

  handle = (request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    if (path === '/mcp') return serveMcp(request, response);
    if (path === '/.well-known/oauth-protected-resource/mcp') {
      return json(response, { resource: `${issuer}/mcp`, authorization_servers: [issuer] });
    }
    if (path.startsWith('/interaction/')) return interact(request, response);
    if (path.startsWith('/.well-known/') && Object.keys(upstream.metadata).length > 0) {
      return json(response, upstream.metadata);
    }
    if (path.startsWith('/auth/')) changeLocation(response, (url) => upstream.callback?.(url));
    return serve(request, response);
  };
  return upstream;
}

/** It shows each person only what is theirs. */
function resultFor({ method, params }: Message, person: string): object | undefined {
  if (method === 'initialize') {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name: 'private', version: '1' },
    };
  }
  if (method === 'tools/list') {
    return { tools: [{ name: 'whoami', description: 'Who you are.', inputSchema: { type: 'object' } }] };
  }
  if (method === 'tools/call') return { content: [{ type: 'text', text: `you are ${person}` }] };
  if (method === 'resources/list') return { resources: [{ uri: `notes://${person}`, name: `Notes of ${person}` }] };
  if (method === 'resources/templates/list') return { resourceTemplates: [] };
  if (method === 'resources/read') {
    return { contents: [{ uri: params.uri, mimeType: 'text/plain', text: `${params.uri} read by ${person}` }] };
  }
  if (method === 'prompts/list') return { prompts: [{ name: 'greet', description: 'Greets you.' }] };
  if (method === 'prompts/get') {
    return { messages: [{ role: 'user', content: { type: 'text', text: `Greet ${person}.` } }] };
  }
  return method === 'ping' ? {} : undefined;
}

async function providerAt(issuer: string, clients: object[], registration: boolean): Promise<Provider> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const resource = `${issuer}/mcp`;
  const configuration: Configuration = {
    clients: clients as never, // of the tests
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }] as never }, // an exported key
    scopes: ['data', 'more'],
    responseTypes: ['code'],
    claims: {},
    pkce: { required: () => true },
    clientDefaults: { id_token_signed_response_alg: 'ES256', token_endpoint_auth_method: 'none' },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: () => false,
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      registration: { enabled: registration },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          audience: resource,
          scope: 'data more',
          accessTokenFormat: 'opaque',
          accessTokenTTL: 600,
        }),
      },
    },
    cookies: { keys: ['test'] },
    renderError(context, out) {
      context.type = 'json';
      context.body = out;
    },
  };
  return new Provider(issuer, configuration);
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Changes where the answer sends the browser. */
function changeLocation(response: ServerResponse, change: (url: URL) => void): void {
  const set = response.setHeader.bind(response);
  response.setHeader = (name, value) => {
    if (name.toLowerCase() !== 'location' || !URL.canParse(String(value))) return set(name, value);
    const url = new URL(String(value));
    change(url);
    return set(name, url.href);
  };
}
