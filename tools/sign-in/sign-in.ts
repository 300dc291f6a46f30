import { randomBytes } from 'node:crypto';
import type { AdminUser } from '../../resources/admin-user.ts';
import { email as emailField } from '../../resources/fields.ts';
import type { SignInLinkRecord } from '../../resources/sign-in.ts';
import type { Store } from '../../store/port.ts';
import { type KeyReaders, keyProblem } from '../core/access/key-principal.ts';
import { hashSecret, secretMatches } from '../core/access/key-secret.ts';
import { anonymous, keyBehind, type Principal } from '../core/access/principal.ts';
import { ToolError, toToolError } from '../core/errors.ts';
import { auditEntryOf, startCall } from '../core/history/audit-entry.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { Attempts, type SignInStep } from './attempts.ts';
import type { Purpose } from './challenges.ts';
import type { VerifiedIdentity } from './id-token.ts';
import { refuseSignIn, SignInRefused } from './id-token.ts';
import { type Issuer, SIGN_IN_MS } from './issuer.ts';
import { earlier, mayUserSignIn, useToken } from './open-sessions.ts';
import { acceptUse, PasskeyCeremonies } from './passkey-ceremonies.ts';

declare module '../core/registry/context.ts' {
  interface ServerContext {
    /** Absent if nobody signs in, as in a registry without doors. */
    readonly signIn?: SignIn;
  }
}

/** A person who has not signed in yet. */
export interface Visitor {
  readonly address: string;
  readonly requestId: string;
}

interface CreatedLink {
  readonly id: string;
  readonly url: string;
  readonly expiresAt: string;
}

interface SignInOptions {
  readonly store: Store;
  readonly issuer: Issuer;
  /** They sign what passkeys are asked to sign: the first signs, all verify. */
  readonly secrets: readonly string[];
  /** Without a trailing slash. */
  readonly baseUrl: string;
  now(): Date;
  onFailure(cause: unknown, visitor: Visitor): void;
  /** Called for every attempt beyond an address's limit. Such attempts leave no audit entry of their own. */
  onLimited(address: string): void;
}

/** The ways to get an ID token. The tool `create_session` then exchanges the token for a session. */
export class SignIn {
  readonly issuer: Issuer;
  readonly passkeys: PasskeyCeremonies;
  readonly attempts: Attempts;
  readonly #options: SignInOptions;

  constructor(options: SignInOptions) {
    this.issuer = options.issuer;
    this.attempts = new Attempts(options.store);
    this.passkeys = new PasskeyCeremonies(options);
    this.#options = options;
  }

  /**
   * Makes a link for the person with this e-mail. It works once, for 10 minutes, and in one browser, which keeps a secret to show that it
   * is the same. Returns the secret of the link for the mail, or undefined if nobody may sign in with the e-mail. Both cases take equally
   * long and store the same, and the caller must answer both in the same way.
   * @throws ToolError (invalid_input, rate_limited)
   */
  requestLink(email: string, browser: string, visitor: Visitor): Promise<string | undefined> {
    return this.attempt('link', visitor, { email: email.slice(0, 320) }, async () => {
      if (!emailField.safeParse(email).success)
        throw new ToolError('invalid_input', 'This is not an e-mail address; write one like ada@example.com.');
      await this.attempts.withEmail('link', email, visitor.address);
      const { store } = this.#options;
      const user = await mayUserSignIn(store, email);
      const { secret, link } = this.#newLink(email, user, browser);
      await store.transaction((tx) => tx.signInLinks.insert(link));
      return user && secret;
    });
  }

  /** Exchanges the secret of a link for an ID token, once. @throws ToolError (unauthenticated, rate_limited) */
  redeemLink(secret: string, browser: string | undefined, visitor: Visitor): Promise<string> {
    return this.attempt('redeem', visitor, {}, async () => {
      const used = await this.#options.store.transaction(async (tx) => {
        const link = await tx.signInLinks.first({ where: { hash: hashSecret(secret) } });
        const problem = this.#problemOf(link, browser) ?? (await this.#problemOfMaker(tx, link));
        if (!link || problem !== undefined) return { problem };
        return { link: await tx.signInLinks.touch(link.id, { usedAt: this.#options.now().toISOString() }) };
      });
      if (!used.link?.userId) throw refuseSignIn(`the link: ${used.problem}`);
      return this.issuer.issue({ id: used.link.userId, email: used.link.email }, used.link.id).idToken;
    });
  }

  /** An ID token for a person whom an external issuer identified. @throws ToolError (unauthenticated, rate_limited) and what `prove` throws */
  redeemIdentity(prove: () => Promise<VerifiedIdentity>, visitor: Visitor): Promise<string> {
    const args: Record<string, unknown> = {};
    return this.attempt('provider', visitor, args, async () => {
      const identity = await prove();
      args.email = identity.email;
      const user = await this.#options.store.transaction(async (tx) => {
        await useToken(tx, identity);
        return mayUserSignIn(tx, identity.email);
      });
      if (!user) throw refuseSignIn('nobody may sign in with the e-mail that the provider vouches for');
      return this.issuer.issue(user).idToken;
    });
  }

  /** An ID token for the person who used a passkey, if they may sign in. @throws ToolError (unauthenticated, rate_limited) */
  redeemPasskey(answer: string, purpose: Purpose, visitor: Visitor): Promise<string> {
    const args: Record<string, unknown> = {};
    return this.attempt('passkey', visitor, args, async () => {
      const used = await this.passkeys.checkUse(answer, purpose);
      Object.assign(args, { email: used.user.email, passkeyId: used.passkey.id });
      await this.attempts.withEmail('passkey', used.user.email, visitor.address);
      const { store, now } = this.#options;
      return this.issuer.issue(await store.transaction((tx) => acceptUse(tx, used, now()))).idToken;
    });
  }

  /** A link that works in any browser, for an admin user whom the caller trusts. It ends with the key or person that makes it. */
  async createLink(
    store: Pick<HistoryWriters, 'signInLinks'>,
    user: AdminUser,
    maker?: Principal,
  ): Promise<CreatedLink> {
    const { secret, link } = this.#newLink(user.email, user);
    const key = maker && keyBehind(maker);
    const expiresAt = earlier(link.expiresAt, key?.expiresAt);
    const { id } = await store.signInLinks.insert({
      ...link,
      expiresAt,
      ...(maker && maker.ownerId !== user.id && { makerId: maker.ownerId }),
      ...(key && { keyId: key.id }),
    });
    return { id, url: this.linkUrl(secret), expiresAt };
  }

  /** The same for the operator, who reads the console. */
  linkFor(email: string): Promise<CreatedLink> {
    return this.#options.store.transaction(async (tx) => {
      const user = await mayUserSignIn(tx, email);
      if (!user) throw new Error(`No active admin user who may sign in has the e-mail ${email}.`);
      return this.createLink(tx, user);
    });
  }

  /** The address that a person opens to follow a link. */
  linkUrl(secret: string): string {
    return `${this.#options.baseUrl}/sign-in/link?token=${encodeURIComponent(secret)}`;
  }

  /** Runs a step of signing in: counts, audits with `args` as the work leaves them, and logs the cause of a refusal. Undefined: a silent refusal. */
  async attempt<Result>(
    step: SignInStep,
    visitor: Visitor,
    args: Readonly<Record<string, unknown>>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    await this.#admit(step, visitor.address);
    const begun = startCall(this.#options.now());
    const note = (code?: ToolError['code']) =>
      this.#options.store.audit.append(
        auditEntryOf({
          begun,
          requestId: visitor.requestId,
          door: 'rest',
          principal: anonymous(visitor.address),
          tool: `sign_in_${step}`,
          arguments: { ...args },
          code,
        }),
      );
    try {
      const result = await work();
      const isSilent = result === undefined;
      if (isSilent) this.#options.onFailure(new SignInRefused('nobody may sign in with the e-mail'), visitor);
      note(isSilent ? 'unauthenticated' : undefined);
      return result;
    } catch (thrown) {
      const error = toToolError(thrown);
      if (error.cause !== undefined) this.#options.onFailure(error.cause, visitor);
      note(error.code);
      throw error;
    }
  }

  async #admit(step: SignInStep, address: string): Promise<void> {
    try {
      await this.attempts.fromAddress(step, address);
    } catch (refused) {
      this.#options.onLimited(address);
      throw refused;
    }
  }

  #newLink(email: string, user: AdminUser | undefined, browser?: string) {
    const secret = randomBytes(32).toString('base64url');
    const link = {
      hash: hashSecret(secret),
      email: email.toLowerCase(),
      ...(user && { userId: user.id }),
      ...(browser !== undefined && { browserHash: hashSecret(browser) }),
      expiresAt: new Date(this.#options.now().getTime() + SIGN_IN_MS).toISOString(),
    };
    return { secret, link };
  }

  async #problemOfMaker(store: KeyReaders, link: SignInLinkRecord | undefined) {
    if (link?.keyId === undefined) return undefined;
    const key = await store.apiKeys.get(link.keyId);
    return key ? keyProblem(store, key, this.#options.now()) : 'was made with a key that is gone';
  }

  #problemOf(link: SignInLinkRecord | undefined, browser: string | undefined): string | undefined {
    if (!link || Date.parse(link.expiresAt) <= this.#options.now().getTime()) return 'is unknown or has expired';
    if (link.usedAt !== undefined) return 'was used before';
    const { browserHash } = link;
    if (browserHash !== undefined && (browser === undefined || !secretMatches(browser, browserHash))) {
      return 'was asked for in another browser';
    }
    return link.userId === undefined ? 'is for an e-mail with which nobody may sign in' : undefined;
  }
}
