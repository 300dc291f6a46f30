import type { IntegrationRecord } from '../../../resources/integration.ts';
import type { IntegrationAccountRecord, IntegrationLinkRecord } from '../../../resources/integration-account.ts';
import { ELSEWHERE } from '../../../store/cluster-port.ts';
import type { Commit, Store, Writers } from '../../../store/port.ts';
import type { Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { allOf } from '../../core/registry/paging.ts';
import type { SecretBox } from '../../core/sealing/secrets.ts';
import {
  type AccountSecrets,
  accountKey,
  hashOf,
  newSecret,
  openAccount,
  openFlow,
  sealAccount,
  sealFlow,
} from './account-secrets.ts';
import { AccountTokens } from './account-tokens.ts';
import {
  type AuthorizeDeps,
  beginFlow,
  type ClientIdentity,
  finishFlow,
  metadataDocument,
} from './authorize-account.ts';
import {
  CALLBACK_PATH,
  CLIENT_PATH,
  endAccountsOf,
  findLink,
  insertLink,
  isAccepted,
  LINK_MS,
  type NewLink,
} from './links.ts';
import { revokeTokens } from './revocation.ts';

declare module '../../core/registry/context.ts' {
  interface ServerContext {
    readonly integrationAccounts?: IntegrationAccounts;
  }
}

interface AccountsOptions {
  readonly store: Store;
  readonly secrets: SecretBox;
  readonly baseUrl: string;
  readonly privateAddresses: boolean;
  readonly name: string;
  now(): Date;
  onFailure(cause: unknown): void;
}

interface WhoseAccount {
  readonly integrationId: string;
  readonly userId?: string | undefined;
}

interface Listeners {
  onConnected(whose: WhoseAccount): void;
  onEnded(whose: WhoseAccount): void;
}

export interface ShownLink {
  readonly integration: Pick<IntegrationRecord, 'name' | 'url'>;
  readonly shared: boolean;
}

export class IntegrationAccounts {
  readonly tokens: AccountTokens;
  readonly #options: AccountsOptions;
  readonly #identity: ClientIdentity;
  #listeners: Listeners | undefined;
  readonly #stopListening: () => void;
  /** When each account was connected, by its key: other processes connect some anew. Renewed tokens are not news connection. */
  readonly #connectedAt = new Map<string, string>();

  constructor(options: AccountsOptions) {
    this.#options = options;
    const { baseUrl, name } = options;
    this.#identity = {
      name,
      redirectUri: `${baseUrl}${CALLBACK_PATH}`,
      metadataUrl: baseUrl.startsWith('https:') ? `${baseUrl}${CLIENT_PATH}` : undefined,
    };
    this.tokens = new AccountTokens(options);
    this.#stopListening = options.store.onCommit(
      (commit) => this.#committed(commit),
      ['integrationAccounts', 'adminUsers'],
    );
  }

  get metadata(): object {
    const { baseUrl } = this.#options;
    return metadataDocument(this.#identity, `${baseUrl}${CLIENT_PATH}`, baseUrl);
  }

  /** Ends the accounts of people who were deactivated while the server was not running. */
  async start(listeners: Listeners): Promise<void> {
    this.#listeners = listeners;
    const { store } = this.#options;
    const accounts = await allOf(store.integrationAccounts, {});
    for (const { key, connectedAt } of accounts) this.#connectedAt.set(key, connectedAt);
    const holders = new Set(accounts.flatMap(({ userId }) => userId ?? []));
    for (const id of holders) if (!(await store.adminUsers.get(id))?.isActive) await this.#endAllOf(id);
  }

  close(): void {
    this.#stopListening();
  }

  /** Makes a link in a transaction that is under way. */
  link(tx: Pick<Writers, 'integrationLinks'>, integration: IntegrationRecord, link: NewLink) {
    const { baseUrl, now } = this.#options;
    return insertLink(tx, integration, { link, baseUrl, now: now() });
  }

  newLink(integration: IntegrationRecord, link: NewLink): Promise<{ url: string; expiresAt: string }> {
    return this.#options.store.transaction((tx) => this.link(tx, integration, link));
  }

  async scopesWith(integrationId: string, userId: string | undefined, scopes: readonly string[]): Promise<string[]> {
    const where = { key: accountKey(integrationId, userId) };
    const account = await this.#options.store.integrationAccounts.first({ where });
    return [...new Set([...(account?.scopes ?? []), ...scopes])];
  }

  async show(secret: string, person: Principal): Promise<ShownLink> {
    const { link, integration } = await this.#linkFor(secret, person);
    return { integration, shared: link.shared };
  }

  /** Opens the link, which works once. Returns where the provider asks the person. @throws ToolError */
  async open(secret: string, person: Principal): Promise<URL> {
    const { link, integration } = await this.#linkFor(secret, person);
    await this.#take(link);
    const { store, secrets } = this.#options;
    const key = accountKey(integration.id, link.shared ? undefined : link.userId);
    const account = await store.integrationAccounts.first({ where: { key } });
    const client = account && this.#readable(account)?.client;
    const begun = await beginFlow(integration, { scopes: link.scopes, client }, this.#deps);
    const expiresAt = new Date(this.#options.now().getTime() + LINK_MS).toISOString();
    const sealed = sealFlow(secrets, link.id, begun.secrets);
    await store.transaction((tx) =>
      tx.integrationLinks.update(link.id, { stateHash: hashOf(begun.state), sealed, expiresAt }),
    );
    return begun.url;
  }

  /** Takes what the provider sent back, once. Returns the integration whose account is connected now. @throws ToolError */
  async finish(answer: URLSearchParams, person: Principal): Promise<IntegrationRecord> {
    const { store, now } = this.#options;
    const link = await findLink(store, answer.get('state') ?? '', { by: 'stateHash', now: now() });
    if (!link) throw new ToolError('not_found', NO_FLOW);
    const integration = await this.#wanted(link, person);
    await store.transaction((tx) => tx.integrationLinks.delete(link.id));
    const flow = openFlow(this.#options.secrets, link);
    const account = await finishFlow(integration, { answer, flow }, this.#deps);
    await this.#save(integration, link, account);
    const { id: integrationId } = integration;
    this.#listeners?.onConnected({ integrationId, ...(!link.shared && { userId: link.userId }) });
    return integration;
  }

  /** Ends the tokens of an account that is deleted at their provider, where it has an endpoint for that. */
  async revoke(account: IntegrationAccountRecord): Promise<boolean> {
    const secrets = this.#readable(account);
    if (!secrets) return false;
    return revokeTokens(secrets, this.#options.privateAddresses).catch(() => false);
  }

  revokeAll(accounts: readonly IntegrationAccountRecord[]): void {
    for (const account of accounts) void this.revoke(account);
  }

  get #deps(): AuthorizeDeps {
    return { ...this.#options, identity: this.#identity };
  }

  async #linkFor(secret: string, person: Principal) {
    const { store, now } = this.#options;
    const link = await findLink(store, secret, { by: 'hash', now: now() });
    if (!link) throw new ToolError('not_found', NO_LINK);
    return { link, integration: await this.#wanted(link, person) };
  }

  /** The integration of the link, as far as the person may connect the account. @throws ToolError */
  async #wanted(link: IntegrationLinkRecord, person: Principal): Promise<IntegrationRecord> {
    if (link.userId !== person.id) throw new ToolError('forbidden', OF_ANOTHER);
    if (link.shared && !person.rights.isAdmin) throw new ToolError('forbidden', FOR_ADMINS);
    const integration = await this.#options.store.integrations.get(link.integrationId);
    if (!integration || !isAccepted(integration, link)) throw new ToolError('conflict', NOT_WANTED);
    return integration;
  }

  /** Marks the link as used before the provider is asked, so that it works once. @throws ToolError */
  async #take({ id }: IntegrationLinkRecord): Promise<void> {
    await this.#options.store.transaction(async ({ integrationLinks }) => {
      const current = await integrationLinks.get(id);
      if (!current || current.stateHash !== undefined) throw new ToolError('not_found', NO_LINK);
      await integrationLinks.update(id, { stateHash: hashOf(newSecret()) });
    });
  }

  async #save(integration: IntegrationRecord, link: IntegrationLinkRecord, account: AccountSecrets): Promise<void> {
    const { store, secrets, now } = this.#options;
    const { id: integrationId, oauth } = integration;
    const whose = { integrationId, ...(!link.shared && { userId: link.userId }) };
    const key = accountKey(integrationId, whose.userId);
    const scopes = (account.tokens.scope ?? '').split(' ').filter(Boolean);
    const members = {
      ...whose,
      key,
      status: 'connected',
      scopes,
      connectedAt: now().toISOString(),
      sealed: sealAccount(secrets, key, account),
    } as const;
    const issuer = account.tokens.issuer;
    await store.transaction(async (tx) => {
      // It may have been deactivated or deleted while the provider was asked.
      if (!(await tx.adminUsers.get(link.userId))?.isActive) throw new ToolError('forbidden', OF_ANOTHER);
      if (!isAccepted(await tx.integrations.get(integrationId), link)) throw new ToolError('conflict', NOT_WANTED);
      const account = await tx.integrationAccounts.first({ where: { key } });
      if (account) await tx.integrationAccounts.update(account.id, members);
      else await tx.integrationAccounts.insert(members);
      // From now on the id and secret of an operator go to no other provider.
      if (oauth?.clientId !== undefined && oauth.issuer === undefined && issuer !== undefined)
        await tx.integrations.touch(integrationId, { oauth: { ...oauth, issuer } });
    });
  }

  #readable(account: IntegrationAccountRecord): AccountSecrets | undefined {
    try {
      return openAccount(this.#options.secrets, account);
    } catch {
      return undefined;
    }
  }

  #committed({ changes, origin }: Commit): void {
    for (const { collection, kind, record } of changes) {
      if (collection === 'integrationAccounts' && kind === 'deleted') {
        this.tokens.forget(record.key);
        this.#connectedAt.delete(record.key);
        this.#listeners?.onEnded(record);
      } else if (collection === 'integrationAccounts' && origin === ELSEWHERE) this.#connectedElsewhere(record);
      // The process that deactivated the person ends the accounts.
      const isGone = collection === 'adminUsers' && (kind === 'deleted' || !record.isActive);
      if (isGone && origin !== ELSEWHERE) this.#endAllOf(record.id).catch(this.#options.onFailure);
    }
  }

  #connectedElsewhere(account: IntegrationAccountRecord): void {
    const { key, connectedAt, status } = account;
    if (status !== 'connected' || this.#connectedAt.get(key) === connectedAt) return;
    this.#connectedAt.set(key, connectedAt);
    this.#listeners?.onConnected(account);
  }

  async #endAllOf(userId: string): Promise<void> {
    const ended = await this.#options.store.transaction((tx) => endAccountsOf(tx, { userId }));
    this.revokeAll(ended);
  }
}

const NO_LINK =
  'This link was used, is older than 10 minutes or was replaced. Make the call again, or call connect_integration, for a new one.';
const NO_FLOW =
  'This answer belongs to no connection that you began here in the last 10 minutes. Start again with a new link.';
const OF_ANOTHER = 'This link was made for somebody else. Sign in as that person, or ask for a link of your own.';
const FOR_ADMINS = 'Only administrators connect the account that all share.';
const NOT_WANTED = 'The integration was changed or deleted since the link was made. Ask for a new one.';
