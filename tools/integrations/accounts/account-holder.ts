import type { IntegrationRecord } from '../../../resources/integration.ts';
import { actorsOf, type Principal } from '../../core/access/principal.ts';
import { ToolError } from '../../core/errors.ts';
import { isPerPerson } from '../auth-mode.ts';
import { labelOf } from '../upstream/tool-definitions.ts';
import { hashOf } from './account-secrets.ts';
import type { AccountRequired } from './account-tokens.ts';
import type { IntegrationAccounts } from './accounts.ts';

/** The error of a call that needs an account. People, and their keys, get a link to connect theirs. */
export async function askForAccount(
  accounts: IntegrationAccounts,
  {
    record,
    caller,
    wanted,
  }: { readonly record: IntegrationRecord; readonly caller: Principal; readonly wanted: AccountRequired },
): Promise<ToolError> {
  const label = labelOf(record);
  if (!isPerPerson(record)) return new ToolError('conflict', await sharedMessage(accounts, record, wanted));
  const userId = holderOf(caller);
  if (userId === undefined || !mayConnect(caller)) return new ToolError('conflict', withoutLink(record, caller));
  const { scopes } = wanted;
  const { url, expiresAt } = await accounts.newLink(record, {
    userId,
    ...(scopes.length > 0 && { scopes: await accounts.scopesWith(record.id, userId, scopes) }),
  });
  const what = scopes.length > 0 ? 'Let your account do more' : 'Connect your own account';
  const message = `${what} at the integration ${label}: open ${url} in a browser where you are signed in here (it works once, until ${expiresAt}), then make the call again.`;
  const params = {
    mode: 'url',
    message: `${what} at ${label}, then make the call again.`,
    url,
    elicitationId: hashId(url),
  };
  return new ToolError('conflict', message, {
    wants: { requests: { connect: { method: 'elicitation/create', params } } },
  });
}

/** What an administrator has to do about the account that all share. */
async function sharedMessage(accounts: IntegrationAccounts, record: IntegrationRecord, { scopes }: AccountRequired) {
  const connects = `connect_integration {"id": "${record.id}"}`;
  const subject = `The account that all share at the integration ${labelOf(record)}`;
  if (scopes.length === 0) return `${subject} is not connected; an administrator connects it with ${connects}.`;
  const change = { id: record.id, oauth: { scopes: await accounts.scopesWith(record.id, undefined, scopes) } };
  return `${subject} may not do this; an administrator lets it do more with update_integration ${JSON.stringify(change)}, then ${connects}.`;
}

function withoutLink({ id, toolPrefix, name }: IntegrationRecord, caller: Principal): string {
  const label = labelOf({ toolPrefix, name });
  if (holderOf(caller) === undefined) {
    return `Each person has an account at the integration ${label}, and a capsule uses nobody's; its owner can let it use theirs with update_capsule {"integrationAccounts": "owner"}.`;
  }
  return `The person that this ${caller.type} acts for has no account at the integration ${label} that works; that person connects one with connect_integration {"id": "${id}"}.`;
}

function hashId(url: string): string {
  return hashOf(url).slice(0, 32);
}

/** The person that the caller acts for. A capsule uses its owner's account only if it is set to, and none otherwise. */
export function holderOf(principal: Principal): string | undefined {
  const chain = actorsOf(principal);
  const capsule = chain.find(({ type }) => type === 'capsule');
  if (capsule) return capsule.integrationAccounts === 'owner' ? capsule.ownerId : undefined;
  const root = chain.at(-1) ?? principal;
  return root.type === 'anonymous' ? undefined : root.ownerId;
}

/** Whether the caller may get a link: a person, or a key or app of one. Nobody follows it for an agent, a flow or a capsule. */
export function mayConnect({ type, actsFor }: Principal): boolean {
  if (type === 'app') return actsFor?.type === 'session' && !actsFor.actsFor;
  return !actsFor && (type === 'session' || type === 'api-key');
}
