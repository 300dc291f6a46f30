import { createHmac, randomBytes } from 'node:crypto';
import type { Cluster } from '../../store/cluster-port.ts';
import { OperatorError } from '../../store/errors.ts';
import type { Store } from '../../store/port.ts';
import { createSecretBox, type SecretBox, secretsKeyId } from '../../tools/core/sealing/secrets.ts';
import { currentKeys, keptSigningKeys, openKeys, type SigningKeys } from '../../tools/sign-in/issuer.ts';
import type { Config } from '../config/config.ts';
import { readIdempotencySecret, readSessionSecrets, readSigningKeys } from '../config/secret-files.ts';

export interface ServerSecrets {
  /** They sign cookies and what passkeys are asked to sign: the first signs, all verify. */
  readonly cookies: readonly string[];
  /** In the hashes by which repeats of a call are known. */
  readonly repeats: string;
  readonly signingKeys: SigningKeys;
  /** Reads the signing keys again. Absent if no other process could have made a new one. */
  renewedKeys?(): Promise<SigningKeys>;
}

type Settings = Pick<Config, 'sessionSecrets' | 'secretsKeys' | 'dataDir'>;

export const NEW_SIGNING_KEY = 'signing key';

/**
 * Secrets that the environment does not give are made at the first start, and kept in the data folder, or sealed in a shared store.
 * @throws OperatorError
 */
export async function readSecrets(
  { sessionSecrets, secretsKeys, dataDir }: Settings,
  { cluster }: Pick<Store, 'cluster'>,
  now: () => Date,
): Promise<ServerSecrets> {
  if (cluster) return sharedSecrets(cluster, { sessionSecrets, secretsKeys }, now);
  return {
    cookies: sessionSecrets ?? readSessionSecrets(dataDir),
    signingKeys: readSigningKeys(dataDir, now()),
    repeats: readIdempotencySecret(dataDir),
  };
}

async function sharedSecrets(
  cluster: Cluster,
  { sessionSecrets, secretsKeys }: Omit<Settings, 'dataDir'>,
  now: () => Date,
): Promise<ServerSecrets> {
  if (!secretsKeys) throw new OperatorError(NO_SECRETS_KEY);
  const sealed = new SealedSecrets(cluster, createSecretBox(secretsKeys, ''));
  const repeats = await sealed.read('repeats', newSecret);
  const cookies = sessionSecrets ?? [await sealed.read('sessions', newSecret)];
  await sealed.read(SIGNING_KEYS, newKeys(now));
  const print = (secret: string) => createHmac('sha256', repeats).update(secret).digest('base64url');
  await cluster.join({ SECRETS_KEY: secretsKeys.map(secretsKeyId), SESSION_SECRET: cookies.map(print) });
  const names = sessionSecrets ? ['repeats'] : ['repeats', 'sessions'];
  for (const name of [...names, SIGNING_KEYS]) await sealed.renew(name);
  const signingKeys = await sharedSigningKeys(cluster, sealed, now);
  return {
    cookies,
    repeats,
    signingKeys,
    renewedKeys: async () => opened(await sealed.read(SIGNING_KEYS, newKeys(now))),
  };
}

const SIGNING_KEYS = 'signing keys';

/** A key that is old is replaced by the process that starts first. The others hear of the new one. */
async function sharedSigningKeys(cluster: Cluster, sealed: SealedSecrets, now: () => Date): Promise<SigningKeys> {
  const text = await sealed.read(SIGNING_KEYS, newKeys(now));
  const current = JSON.stringify(currentKeys(keptSigningKeys.parse(JSON.parse(text)), now()));
  if (current === text) return opened(text);
  const kept = await sealed.replace(SIGNING_KEYS, current);
  cluster.tell(NEW_SIGNING_KEY, {});
  return opened(kept);
}

function newKeys(now: () => Date): () => string {
  return () => JSON.stringify(currentKeys(undefined, now()));
}

function opened(text: string): SigningKeys {
  return openKeys(keptSigningKeys.parse(JSON.parse(text)));
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

class SealedSecrets {
  readonly #cluster: Cluster;
  readonly #box: SecretBox;

  constructor(cluster: Cluster, box: SecretBox) {
    this.#cluster = cluster;
    this.#box = box;
  }

  async read(name: string, make: () => string): Promise<string> {
    return this.#open(name, await this.#sealed(name, make));
  }

  /** Replaces the secret, unless another process has done so. Returns the stored one. */
  async replace(name: string, secret: string): Promise<string> {
    const before = await this.#sealed(name, () => secret);
    return this.#open(name, await this.#cluster.replaceSecret(name, before, this.#box.seal(secret, place(name))));
  }

  /** Seals it with the first key, where it was sealed with an earlier one. */
  async renew(name: string): Promise<void> {
    const before = await this.#cluster.secret(name, () => '');
    const renewed = this.#box.renew(before, place(name));
    if (renewed) await this.#cluster.replaceSecret(name, before, renewed);
  }

  #sealed(name: string, make: () => string): Promise<string> {
    return this.#cluster.secret(name, () => this.#box.seal(make(), place(name)));
  }

  #open(name: string, sealed: string): string {
    try {
      return this.#box.open(sealed, place(name));
    } catch (cause) {
      throw new OperatorError(WRONG_SECRETS_KEY, { cause });
    }
  }
}

function place(name: string): string {
  return `server ${name}`;
}

const NO_SECRETS_KEY =
  'SECRETS_KEY is not set. All processes on one database need the same, because what one encrypts the others read: set it to what `openssl rand -base64 32` prints, and keep a copy.';
const WRONG_SECRETS_KEY =
  'SECRETS_KEY is not the one that the secrets in this database were encrypted with. Give this process that of the others, or of the start before.';
