import type { Readers } from '../../../store/port.ts';
import { ToolError, toToolError } from '../errors.ts';
import { appPrincipal } from './app-principal.ts';
import { capsulePrincipal, capsuleProblem } from './capsule-principal.ts';
import type { GuardedCatalog } from './guarded-tool.ts';
import { keyProblem, keyReference, principalOf } from './key-principal.ts';
import type { Principal } from './principal.ts';
import { personPrincipal } from './principal.ts';

/** The principal as it is now, or the reason why it may not continue. */
export type CredentialStatus = Principal | ToolError;

/** Checks a credential. It is asked before every call and turn inside a long piece of work, and every second during that work. */
export type CheckCredential = () => Promise<CredentialStatus>;

const CHECK_INTERVAL_MS = 1000;

interface CredentialListener {
  onGone(problem: ToolError): void;
  onRenewed?: ((principal: Principal) => void) | undefined;
}

/** Asks every second, until the returned function is called or the principal may not continue, also because the question failed. */
export function watchCredential(ask: CheckCredential, told: CredentialListener): () => void {
  const watch = setInterval(() => void checkNow(ask, told), CHECK_INTERVAL_MS);
  return () => clearInterval(watch);
}

export async function checkNow(ask: CheckCredential, { onGone, onRenewed }: CredentialListener): Promise<void> {
  const standing = await checkSafely(ask);
  if (standing instanceof ToolError) onGone(standing);
  else onRenewed?.(standing);
}

/** Checks it, and gives a failure as the reason why the caller may not continue. Never rejects. */
export function checkSafely(ask: CheckCredential): Promise<CredentialStatus> {
  return ask().catch(toToolError);
}

/** A signal that aborts with the reason when the principal may not continue, or when the other signal aborts. */
export class CredentialSignal {
  readonly signal: AbortSignal;
  readonly #gone = new AbortController();
  readonly #stop: () => void;

  constructor(ask: CheckCredential, other: AbortSignal | undefined) {
    this.signal = other ? AbortSignal.any([other, this.#gone.signal]) : this.#gone.signal;
    this.#stop = watchCredential(ask, { onGone: (problem) => this.#gone.abort(problem) });
  }

  /** The reason why the principal may not continue, if that is so. */
  get problem(): ToolError | undefined {
    return this.#gone.signal.aborted ? this.#gone.signal.reason : undefined; // only a ToolError aborts this signal
  }

  stop(): void {
    this.#stop();
  }
}

/** `credentialStatus` with the reason as an error, for work that is done later or again. */
export async function credentialStatusOrError(
  ...asked: Parameters<typeof credentialStatus>
): Promise<CredentialStatus> {
  const found = await credentialStatus(...asked);
  return typeof found === 'string' ? new ToolError('unauthenticated', found) : found;
}

/** The principal as it is now, or the reason why nothing may act as it any more. For a session, it is the user with this id. */
export async function credentialStatus(
  {
    type,
    id,
    name,
    endsWith,
  }: Pick<Principal, 'id' | 'name'> & { readonly type: string; readonly endsWith?: string | undefined },
  store: Readers,
  { catalog, now }: { readonly catalog: GuardedCatalog; readonly now: Date },
): Promise<Principal | string> {
  if (type === 'session') {
    const user = await store.adminUsers.get(id);
    if (!user?.isActive) return `The admin user ${name} is deactivated or gone.`;
    const person = { ...personPrincipal(user), name };
    if (endsWith === undefined) return person;
    const key = await store.apiKeys.get(endsWith);
    const problem = key ? await keyProblem(store, key, now) : 'The key is gone.';
    if (!key || problem) return `The admin user ${name} was signed in by the link of an API key. ${problem}`;
    return { ...person, madeWith: keyReference(key) };
  }
  if (type === 'api-key') {
    const key = await store.apiKeys.get(id);
    const problem = key ? await keyProblem(store, key, now) : 'The key is gone.';
    return key && !problem
      ? principalOf(key, await store.adminUsers.get(key.ownerId))
      : `The API key ${name} is no longer accepted. ${problem}`;
  }
  if (type === 'app') {
    const app = await store.connectedApps.get(id);
    if (!app) return `The connected app ${name} is disconnected.`;
    const found = await appPrincipal(store, app, { catalog, now });
    return typeof found === 'string' ? `The connected app ${name} is no longer accepted. ${found}` : found;
  }
  const capsule = type === 'capsule' ? await store.capsules.get(id) : undefined;
  if (!capsule) return `The ${type} ${name} is gone.`;
  const problem = await capsuleProblem(store, capsule, now);
  if (problem !== undefined) return `The capsule ${name}: ${problem}`;
  return capsulePrincipal(capsule, catalog, await store.adminUsers.get(capsule.ownerId));
}

export async function endedCredential(
  principal: Principal,
  store: Readers,
  parts: { readonly catalog: GuardedCatalog; readonly now: Date },
): Promise<ToolError> {
  const { madeWith, ...named } = principal;
  const found = await credentialStatus(madeWith ? { ...named, endsWith: madeWith.id } : named, store, parts);
  const reason = typeof found === 'string' ? found : ENDED[principal.type];
  return new ToolError('unauthenticated', `The call was ended with its credential. ${reason}`);
}

const ENDED: Partial<Record<Principal['type'], string>> = {
  session: 'The session has ended; sign in again.',
  'api-key': 'The secret of the API key was replaced; use the new one.',
  app: 'The access token has expired; get another with the refresh token.',
  capsule: 'The token of the capsule was replaced; use the new one.',
};
