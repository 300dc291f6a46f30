import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import type { AdminUser } from '../../resources/admin-user.ts';
import { parseJson } from '../../resources/json.ts';
import type { PasskeyRecord } from '../../resources/passkey.ts';
import type { NewRecord, Readers } from '../../store/port.ts';
import { ToolError } from '../core/errors.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import { loadPackage } from '../core/load-package.ts';
import { Challenges, type Purpose } from './challenges.ts';
import { refuseSignIn, SignInRefused } from './id-token.ts';
import { mayUserSignIn, useToken } from './open-sessions.ts';

const base64url = z
  .string()
  .max(16_000)
  .regex(/^[\w-]*$/);
const credential = { id: base64url.min(1), rawId: base64url, type: z.literal('public-key') };
const extensions = z.object({}).default({});

/** What a browser says after a passkey was used, as `PublicKeyCredential.toJSON` has it. */
const used = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.optional(),
  }),
  clientExtensionResults: extensions,
});

/** The same after one was made. */
const made = z.object({
  ...credential,
  response: z.object({
    clientDataJSON: base64url,
    attestationObject: base64url,
    transports: z.array(z.string().max(40)).max(10).optional(),
  }),
  clientExtensionResults: extensions,
});

/** A passkey that was used, checked but for what only a transaction can tell. */
interface UsedPasskey {
  readonly passkey: PasskeyRecord;
  readonly user: AdminUser;
  readonly counter: number;
  readonly challenge: UsedChallenge;
}

interface UsedChallenge {
  readonly issuer: 'passkey';
  readonly jti: string;
  readonly expiresAt: Date;
}

interface MadePasskey {
  readonly record: Omit<NewRecord<PasskeyRecord>, 'name'>;
  readonly challenge: UsedChallenge;
}

interface CeremonyOptions {
  readonly store: Readers;
  readonly baseUrl: string;
  /** The first signs challenges; all verify them. */
  readonly secrets: readonly string[];
  now(): Date;
}

/** What browser and server say to each other about passkeys. The library that checks signatures is loaded when it is first needed. */
export class PasskeyCeremonies {
  /** Why browsers make no passkeys for this server. Undefined if they do. */
  readonly problem: string | undefined;
  readonly #store: Readers;
  readonly #challenges: Challenges;
  readonly #origin: string;
  /** The name that a passkey is for. No other site can use it. */
  readonly #rpId: string;

  constructor({ store, baseUrl, secrets, now }: CeremonyOptions) {
    const { origin, hostname } = new URL(baseUrl);
    this.problem = problemOf(baseUrl);
    this.#store = store;
    this.#challenges = new Challenges(secrets, now);
    this.#origin = origin;
    this.#rpId = hostname;
  }

  /** What a browser needs to use a passkey: any that it has for this server, or one of these. */
  toUse(purpose: Purpose, passkeys: readonly PasskeyRecord[] = []) {
    return {
      challenge: this.#challenges.make(purpose),
      rpId: this.#rpId,
      userVerification: 'required' as const,
      allowCredentials: passkeys.map(described),
    };
  }

  /** What a browser needs to make a passkey. Authenticators that have one of the person already make no other. */
  toMake(purpose: Purpose, { user, workspace, passkeys }: Making) {
    const { id, email, name = email } = user;
    return {
      challenge: this.#challenges.make(purpose),
      rp: { id: this.#rpId, name: workspace },
      user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: name },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' as const })),
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: passkeys.map(described),
    };
  }

  /** Checks who used which passkey. @throws ToolError (unauthenticated) */
  async checkUse(text: string, purpose: Purpose): Promise<UsedPasskey> {
    const answer = used.safeParse(parseJson(text)).data;
    if (!answer) throw refuseSignIn('the answer of the passkey is unreadable');
    const passkey = await this.#store.passkeys.first({ where: { credentialId: answer.id } });
    const user = passkey && (await this.#store.adminUsers.get(passkey.userId));
    if (!passkey || !user) throw refuseSignIn('the passkey is unknown here');
    const { userHandle } = answer.response;
    if (userHandle !== undefined && Buffer.from(userHandle, 'base64url').toString() !== user.id) {
      throw refuseSignIn('the passkey is said to be of somebody else');
    }
    const { verifyAuthenticationResponse } = await loadPackage(
      '@simplewebauthn/server',
      () => import('@simplewebauthn/server'),
    );
    const challenges: string[] = [];
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      ...this.#expected(purpose, challenges),
      response: answer as AuthenticationResponseJSON, // the schema names what the library reads
      // The count is compared below, once the signature has shown that it is the passkey's own.
      credential: { id: passkey.credentialId, publicKey: bytesOf(passkey.publicKey), counter: 0 },
    }).catch((cause) => {
      throw refuseSignIn('the passkey was not used as asked', cause);
    });
    if (!verified) throw refuseSignIn('the signature of the passkey is wrong');
    const challenge = this.#used(challenges, purpose);
    return { passkey, user, counter: authenticationInfo.newCounter, challenge };
  }

  /** Checks a new passkey. @throws ToolError (invalid_input) */
  async checkMade(text: string, purpose: Purpose & { readonly userId: string }): Promise<MadePasskey> {
    const answer = made.safeParse(parseJson(text)).data;
    if (!answer) throw refuseNew('its answer is unreadable');
    const { verifyRegistrationResponse } = await loadPackage(
      '@simplewebauthn/server',
      () => import('@simplewebauthn/server'),
    );
    const challenges: string[] = [];
    const { registrationInfo } = await verifyRegistrationResponse({
      ...this.#expected(purpose, challenges),
      supportedAlgorithmIDs: [...ALGORITHMS],
      response: answer as RegistrationResponseJSON, // the schema names what the library reads
    }).catch((cause) => {
      throw refuseNew('it was not made as asked', cause);
    });
    if (!registrationInfo) throw refuseNew('its attestation is wrong');
    const { id, publicKey, counter, transports } = registrationInfo.credential;
    const record = {
      userId: purpose.userId,
      credentialId: id,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      ...(transports && { transports }),
      isSynced: registrationInfo.credentialBackedUp,
    };
    return { record, challenge: this.#used(challenges, purpose) };
  }

  #expected(purpose: Purpose, challenges: string[]) {
    return {
      expectedChallenge: (challenge: string) => {
        challenges.push(challenge);
        return this.#challenges.expiryOf(challenge, purpose) !== undefined;
      },
      expectedOrigin: this.#origin,
      expectedRPID: this.#rpId,
      requireUserVerification: true,
    };
  }

  #used([jti = '']: readonly string[], purpose: Purpose): UsedChallenge {
    const expiresAt = this.#challenges.expiryOf(jti, purpose);
    if (!expiresAt) throw refuseSignIn('the challenge has expired');
    return { issuer: 'passkey', jti, expiresAt };
  }
}

interface Making {
  readonly user: AdminUser;
  readonly workspace: string;
  readonly passkeys: readonly PasskeyRecord[];
}

/** Ed25519, ES256 and RS256, which every authenticator has one of. */
const ALGORITHMS = [-8, -7, -257] as const;

/** Marks the challenge as used, and the passkey. @throws ToolError (unauthenticated) */
export async function acceptUse(
  store: Pick<HistoryWriters, 'passkeys' | 'usedTokens'> & Pick<Readers, 'adminUsers' | 'settings'>,
  { passkey: { id }, challenge, counter, user: { email, id: userId } }: UsedPasskey,
  now: Date,
): Promise<AdminUser> {
  await useToken(store, challenge);
  const passkey = await store.passkeys.get(id);
  if (!passkey) throw refuseSignIn('the passkey was removed meanwhile');
  if ((counter > 0 || passkey.counter > 0) && counter <= passkey.counter) {
    const logged = new SignInRefused(`the counter of the passkey ${id} went back: somebody may have a copy of it`);
    throw new ToolError('unauthenticated', COPIED, {}, logged);
  }
  const user = await mayUserSignIn(store, email);
  if (user?.id !== userId) throw refuseSignIn('the person of the passkey may not sign in');
  await store.passkeys.touch(id, { counter, lastUsedAt: now.toISOString() });
  return user;
}

const COPIED =
  'This passkey is not accepted: it counts fewer uses than before, so somebody may have a copy of it. Sign in another way and remove it under "My account".';

function refuseNew(reason: string, cause?: unknown): ToolError {
  const logged = new SignInRefused(`a new passkey: ${reason}`, cause === undefined ? undefined : { cause });
  return new ToolError('invalid_input', 'The new passkey was not accepted. Add it again, in this browser.', {}, logged);
}

function problemOf(baseUrl: string): string | undefined {
  const { protocol, hostname } = new URL(baseUrl);
  if (isIP(hostname.replace(/[[\]]/g, '')) !== 0) {
    return `Browsers make passkeys for names, and ${hostname} is an address: set BASE_URL to one with a name, such as http://localhost:3000.`;
  }
  if (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost')) return undefined;
  return 'Browsers make passkeys over https alone: set BASE_URL to an https address.';
}

function described({ credentialId: id, transports }: PasskeyRecord) {
  return { id, type: 'public-key' as const, ...(transports && { transports }) };
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}
