import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { closedAtEnd } from '../support/at-end.ts';
import type { Canaries } from '../support/canaries.ts';
import { type ServerProcess, startProcess } from '../support/child.ts';
import { ENCODINGS } from '../support/encodings.ts';
import { hostsModule } from '../support/guide-upstreams.ts';
import { onLoopback } from '../support/loopback.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { startOAuthUpstream } from '../support/oauth-upstream.ts';
import { startOidcIssuer } from '../support/oidc-issuer.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { databaseOf, dataFolder, onPostgres, removeFolder } from '../support/store.ts';
import { reply, startUpstream, toolCalled } from '../support/upstream.ts';
import { startReceiver } from '../support/webhook-world.ts';

/** Characters that each way of encoding writes differently. */
const MARKS = ' "&<>+/\\%';
const random = (bytes = 24) => randomBytes(bytes).toString('base64url');

export interface PlantedServer {
  readonly baseUrl: string;
  readonly adminKey: string;
  readonly folder: string;
  /** Variables of the server, for commands on its store. */
  readonly env: Readonly<Record<string, string>>;
  readonly process: ServerProcess;
  readonly far: FarEnds;
}

export type FarEnds = Awaited<ReturnType<typeof startFarEnds>>;

const BASES = ['base64', 'base64url'] as const;

/** Servers that know a secret of ours and repeat it wherever they can. */
async function startFarEnds(canaries: Canaries) {
  const smtp = { user: 'agent-admin', pass: canaries.plant('SMTP password', `smtp-${random()}`) };
  const [mail, model, vendor, oidc, oauth, collector, receiver] = await Promise.all([
    startMailServer(smtp),
    startModelServer(),
    startVendor(),
    startOidcIssuer(),
    startOAuthUpstream(),
    startOtlpReceiver(),
    startReceiver(),
  ]);
  const modelKey = canaries.plant('MODEL_API_KEY', `sk-model-${random()}`);
  canaries.plant('OIDC_CLIENT_SECRET', oidc.clientSecret);
  oidc.lies = { tokenAnswer: { status: 400, body: { error: 'invalid_client', error_description: oidc.clientSecret } } };
  model.play(({ authorization }) => ({ status: 401, error: `Incorrect API key provided: ${authorization}` }));
  const upstream = await startUpstream(toolCalled('echo'), toolCalled('fail'), toolCalled('refuse'));
  upstream.intercept = (request, response, { id, method, params }) => {
    if (method !== 'tools/call') return false;
    const said = Object.values(request.headers).flat().join(' ');
    const text = [
      said,
      ...ENCODINGS.map((encode) => encode(said)),
      ...BASES.map((base) => Buffer.from(said).toString(base)),
    ].join('\n');
    const content = [{ type: 'text', text }];
    if (params.name === 'refuse') {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_000, message: text } }));
    }
    reply(response, id, { content, structuredContent: { [text]: text }, isError: params.name === 'fail' });
  };
  const close = () => Promise.all([mail, model, vendor, oidc, oauth, collector, upstream].map((each) => each.close()));
  return { mail, model, vendor, oidc, oauth, collector, receiver, upstream, modelKey, smtp, close };
}

/** In the place of OpenAI and Anthropic: it lists a model of each, and refuses everything else with the key that it was given. */
function startVendor() {
  const server = createServer((request, response) => {
    request.resume();
    const { authorization, 'x-api-key': key = authorization } = request.headers;
    const isList = /\/models\b/.test(String(request.url));
    const data = ['gpt-planted', 'claude-planted'].map((id) => ({ id, type: 'model', object: 'model' }));
    const error = { type: 'authentication_error', message: `Incorrect API key provided: ${key}` };
    response.writeHead(isList ? 200 : 401, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isList ? { object: 'list', data, has_more: false } : { type: 'error', error }));
  });
  return onLoopback(server);
}

/** A server in a process of its own that logs everything, with a secret in every variable that takes one. */
export async function startPlantedServer(canaries: Canaries): Promise<PlantedServer> {
  const far = await startFarEnds(canaries);
  const folder = await dataFolder();
  const adminKey = canaries.plant('BOOTSTRAP_API_KEY', `ak_planted0_${random(36)}`);
  const collectorKey = canaries.plant('OTEL_EXPORTER_OTLP_HEADERS', `otel-${random()}`);
  const hosts = hostsModule({ 'https://api.openai.com': far.vendor.url, 'https://api.anthropic.com': far.vendor.url });
  const env: Record<string, string> = {
    DATA_DIR: folder,
    LOG_LEVEL: 'trace',
    BOOTSTRAP_API_KEY: adminKey,
    SESSION_SECRET: canaries.plant('SESSION_SECRET', `session-${random(32)}`),
    SECRETS_KEY: canaries.plant('SECRETS_KEY', randomBytes(32).toString('base64')),
    MODEL_BASE_URL: far.model.baseUrl,
    MODEL_API_KEY: far.modelKey,
    MODEL_NAME: 'tiny',
    OPENAI_API_KEY: canaries.plant('OPENAI_API_KEY', `sk-proj-${random()}`),
    ANTHROPIC_API_KEY: canaries.plant('ANTHROPIC_API_KEY', `sk-ant-${random()}`),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hosts)}`,
    SMTP_URL: far.mail.url,
    MAIL_FROM: 'admin@example.com',
    OIDC_ISSUER: far.oidc.url,
    OIDC_CLIENT_ID: far.oidc.clientId,
    OIDC_CLIENT_SECRET: far.oidc.clientSecret,
    OTEL_EXPORTER_OTLP_ENDPOINT: far.collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${collectorKey}`,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    PRIVATE_UPSTREAMS: 'on',
    BACKUP_FOLDER: `${folder}-backups`,
    BACKUP_SCHEDULE: 'never',
  };
  if (onPostgres) {
    const url = new URL(await databaseOf(folder));
    url.password = canaries.plant('password of DATABASE_URL', `pg-${random()}`); // taken by a server that trusts loopback
    env.DATABASE_URL = url.href;
    delete env.BACKUP_FOLDER;
  }
  const server = await startProcess(folder, env);
  const ownKey = /"API_KEY": "(ak_\w+)"/.exec(server.stdout)?.[1] ?? '';
  canaries.plant('key of Claude Desktop', ownKey);
  const [signInLink = ''] = /https?:\S+\/sign-in\/link\?token=\S+/.exec(server.stdout) ?? [];
  canaries.plant('first sign-in link', new URL(signInLink).searchParams.get('token') ?? '');
  canaries.look('what the first start prints', server.stdout);
  closedAtEnd(async () => {
    await server.stop('SIGKILL');
    await far.close();
    await removeFolder(folder);
    await removeFolder(`${folder}-backups`);
  });
  return { baseUrl: server.baseUrl, adminKey, folder, env, process: server, far };
}

/** A secret with characters that every encoding writes differently. */
export function oddSecret(name: string): string {
  return `${name.replaceAll(' ', '-')}-${random(12)}${MARKS}${random(12)}`;
}
