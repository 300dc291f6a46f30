import { createModels } from '../../tools/core/models/models.ts';
import { type Config, localUrl } from '../config/config.ts';
import { createSmtpTransport } from '../sign-in/mail.ts';
import { dataChecks } from './data-checks.ts';
import { type Check, clockFinding, type Finding, fail, ok, reasonOf, warn, withoutSecrets } from './finding.ts';

const WAIT_MS = 10_000;

function outsideChecks(config: Config): Check[] {
  return [() => checkAddress(config), () => checkMail(config), () => checkProvider(config), () => checkModels(config)];
}

async function checkAddress({ baseUrl, host, port }: Config): Promise<Finding[]> {
  const address = baseUrl ?? localUrl(host, port);
  const reach = addressFindings(address, baseUrl !== undefined, host);
  try {
    const { status } = await get(`${address}/readyz`);
    if (status === 200) return [ok('address', `${address} answers and is ready.`), ...reach];
    if (status === 503)
      return [warn('address', `${address} answers but is not ready: it starts, ends or cannot write.`), ...reach];
    const text = `The server at ${address} is not agent-admin (${status} for /readyz): check BASE_URL and the proxy.`;
    return [fail('address', text)];
  } catch (error) {
    const next = 'start the server, or check BASE_URL, DNS and the proxy';
    return [warn('address', `Nobody answers at ${address} (${reasonOf(error)}): ${next}.`), ...reach];
  }
}

function addressFindings(address: string, isGiven: boolean, host: string): Finding[] {
  const { protocol, hostname } = new URL(address);
  const isLocal = /^(localhost|127\..*|\[::1\])$/.test(hostname);
  if (!isGiven && host !== '127.0.0.1' && host !== 'localhost' && host !== '::1') {
    return [warn('address', 'The server listens for others; set BASE_URL to the address that they use.')];
  }
  if (protocol === 'https:' || isLocal) return [];
  return [
    warn('address', 'BASE_URL is not https: cookies and keys can be read on the way. Put a proxy with TLS before it.'),
  ];
}

async function checkMail({ smtpUrl, mailFrom }: Config): Promise<Finding[]> {
  if (smtpUrl === undefined) return [warn('mail', 'Sign-in links are printed; set SMTP_URL to have them sent.')];
  const transport = await createSmtpTransport(smtpUrl, mailFrom);
  const { host } = new URL(smtpUrl);
  try {
    await transport.verify();
    return [ok('mail', `${host} takes mails from ${mailFrom}, as far as it says before one is sent.`)];
  } catch (error) {
    return [fail('mail', `${host} does not work (${reasonOf(error)}): check SMTP_URL.`)];
  } finally {
    transport.close();
  }
}

async function checkProvider({ oidc }: Config): Promise<Finding[]> {
  if (!oidc) return [ok('sign-in provider', 'None is set (OIDC_ISSUER); people sign in by link or passkey.')];
  const url = `${oidc.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  try {
    const response = await get(url);
    const { issuer } = response.ok ? ((await response.json()) as { readonly issuer?: unknown }) : {};
    if (issuer !== oidc.issuer) {
      const found = response.ok ? `names the issuer ${String(issuer)}` : `answers ${response.status}`;
      return [
        fail('sign-in provider', `${url} ${found}: set OIDC_ISSUER to the address that the provider gives itself.`),
      ];
    }
    const date = response.headers.get('date');
    const found = ok('sign-in provider', `${oidc.issuer} describes itself.`);
    return date ? [found, clockFinding('the sign-in provider', new Date(date))] : [found];
  } catch (error) {
    return [fail('sign-in provider', `${url} cannot be read (${reasonOf(error)}): check OIDC_ISSUER and the network.`)];
  }
}

async function checkModels({ models: settings }: Config): Promise<Finding[]> {
  const models = createModels(settings);
  if (!settings.providers?.length) {
    return [
      warn(
        'models',
        'None is set, so agents use the built-in offline model: set MODEL_BASE_URL, OPENAI_API_KEY or ANTHROPIC_API_KEY.',
      ),
    ];
  }
  await models.list();
  const found = (await models.health()).map(({ name, status, lastError }) =>
    status === 'ok' ? ok('models', `${name} lists its models.`) : fail('models', `${name}: ${lastError ?? status}`),
  );
  if (models.has(models.initial)) return [...found, ok('models', `New workspaces begin with ${models.initial}.`)];
  return [...found, fail('models', `${models.initial} is not among them: set MODEL_NAME to one that is.`)];
}

function get(url: string): Promise<Response> {
  return fetch(url, { signal: AbortSignal.timeout(WAIT_MS), redirect: 'manual' });
}

/** Checks what the process was set up with. No finding holds a secret of its environment. */
export async function examine(config: Config, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const found = await Promise.all([...dataChecks(config), ...outsideChecks(config)].map(outcomeOf));
  return found.flat().map((finding) => ({ ...finding, text: withoutSecrets(finding.text, env) }));
}

/** A check that cannot be made is a finding too. */
async function outcomeOf(check: Check): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [fail('this check', `It could not be made: ${reasonOf(error)}`)];
  }
}
