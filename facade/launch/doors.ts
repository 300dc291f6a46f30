import { WebhookReceiver } from '../../tools/flows/inbound/receiver.ts';
import type { Upstreams } from '../../tools/integrations/upstream/upstreams.ts';
import { Issuer } from '../../tools/sign-in/issuer.ts';
import { SignIn } from '../../tools/sign-in/sign-in.ts';
import type { AppOptions } from '../app.ts';
import type { Dashboard } from '../dashboard/server/dashboard.ts';
import { createGuidePages } from '../guides/pages.ts';
import type { OnUncaught } from '../http/answer-errors.ts';
import { createAuthenticator } from '../http/authenticate.ts';
import { CapsuleAccess } from '../http/capsule-access.ts';
import { createGuards } from '../http/guards.ts';
import type { Readiness } from '../http/readiness.ts';
import type { RefusedRequests } from '../http/refused-requests.ts';
import { createSessionCookies } from '../http/session-cookie.ts';
import { WebhookDoor } from '../http/webhook-door.ts';
import { createAddressPage } from '../oauth/address-page.ts';
import { ConsentPage } from '../oauth/consent.ts';
import { createOAuth } from '../oauth/oauth.ts';
import { createAccountHandlers } from '../sign-in/account-pages.ts';
import { createMailer } from '../sign-in/mail.ts';
import { Pages } from '../sign-in/pages.ts';
import { createIdentityProvider } from '../sign-in/provider.ts';
import type { FailedCall } from './logger.ts';
import { NEW_SIGNING_KEY, type ServerSecrets } from './secrets.ts';
import type { ServerBase } from './server-context.ts';

export interface DoorBase extends ServerBase {
  readonly secrets: ServerSecrets;
  readonly refused: RefusedRequests;
  readonly readiness: Readiness;
  readonly onUncaught: OnUncaught;
}

/** What people sign in by. */
export function createSignIn(
  { config, store, logger, baseUrl, secrets, refused, now, onFailure: onBackgroundFailure }: DoorBase,
  onFailure: (cause: unknown, call: FailedCall) => void,
) {
  const issuer = new Issuer(baseUrl, secrets.signingKeys, now, secrets.renewedKeys);
  store.cluster?.onTold(NEW_SIGNING_KEY, () => void issuer.renewKeys().catch(onBackgroundFailure));
  const onLimited = (address: string) => refused.count(address, 'rate_limited');
  const redirectUri = `${baseUrl}/sign-in/oidc/callback`;
  const mailer = createMailer({ ...config, logger });
  const provider = config.oidc && createIdentityProvider({ ...config.oidc, redirectUri, logger });
  return {
    signIn: new SignIn({ store, issuer, secrets: secrets.cookies, baseUrl, now, onFailure, onLimited }),
    mailer,
    provider,
    dependencies: [mailer, ...(provider ? [provider] : [])],
  };
}

/** What judges and answers requests at each door. */
export function createDoors(
  base: DoorBase,
  people: ReturnType<typeof createSignIn>,
  {
    registry,
    mcp,
    connections,
    dashboard,
    accounts,
  }: Pick<AppOptions, 'registry' | 'mcp' | 'connections'> & {
    readonly dashboard: Dashboard;
    readonly accounts: Upstreams['accounts'];
  },
): AppOptions {
  const { config, store, logger, baseUrl, secrets, refused, onFailure, now } = base;
  const cookies = createSessionCookies({ secrets: secrets.cookies, secure: baseUrl.startsWith('https:') });
  const { catalog } = registry.server;
  const guards = createGuards({ ...config, baseUrl });
  const consent = new ConsentPage({ store, registry, cookies, refused });
  const authorization = config.oauth ? createOAuth({ ...config, ...base, catalog, guards, consent }) : undefined;
  const accessTokens = authorization?.accessTokens;
  const authenticator = createAuthenticator({ store, catalog, cookies, accessTokens, onFailure, now });
  const capsules = new CapsuleAccess({ store, refused, onFailure, now });
  const receiver = new WebhookReceiver({ store, registry, onFailure, now });
  const webhooks = new WebhookDoor({ receiver, guards, refused, authenticator, connections, cluster: store.cluster });
  const pageDeps = { store, registry, cookies, guards, refused, baseUrl, logger, dashboard };
  const more = { ...authorization?.handlers, ...createAccountHandlers(accounts, pageDeps) };
  const pages = [dashboard.serveAssets, new Pages({ ...people, ...pageDeps, more }).serve];
  const { signIn } = people;
  return {
    ...config,
    ...base,
    cluster: store.cluster,
    registry,
    mcp,
    connections,
    authenticator,
    guards,
    cookies,
    capsules,
    webhooks,
    signIn,
    pages,
    guides: createGuidePages({ dashboard, baseUrl }),
    authorization,
    showAddress: createAddressPage({ store, baseUrl, signsIn: authorization !== undefined }),
    onStepUp: (app) => authorization?.stepUps.note(app),
  };
}
