import type { Issue } from '../../resources/error.ts';
import { type IntegrationAuth, type IntegrationRecord, SECRET_MASK } from '../../resources/integration.ts';
import { ToolError } from '../core/errors.ts';
import { sealSecret } from '../core/sealing/seal-secret.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { clientSecretContext } from './accounts/authorize-account.ts';
import { isOAuth } from './auth-mode.ts';
import { moves, type Secrets, type TargetInput } from './target.ts';
import { secretContext } from './upstream/upstreams.ts';

type MembersInput = Omit<TargetInput, 'transport'>;

type Sealed = Pick<IntegrationRecord, 'env' | 'headers' | 'oauth'>;
type Nullable<Members> = { readonly [Name in keyof Members]: Members[Name] | null };

interface SealedMembersDeps {
  readonly box: SecretBox;
  readonly current?: IntegrationRecord;
}

export function sealedMembers(
  id: string,
  given: Omit<MembersInput, keyof Sealed> & Partial<Sealed>,
  parts: SealedMembersDeps,
): Sealed;
export function sealedMembers(id: string, given: MembersInput, parts: SealedMembersDeps): Nullable<Sealed>;
export function sealedMembers(id: string, given: MembersInput, { box, current }: SealedMembersDeps): Nullable<Sealed> {
  const seal = sealFor(id, box);
  const { env, headers, oauth } = given;
  const isMoved = current !== undefined && moves(current, given);
  return {
    ...(env !== undefined && { env: env && seal('env', env, current?.env) }),
    ...(headers !== undefined && { headers: headers && seal('headers', headers, current?.headers) }),
    ...(oauth !== undefined && {
      oauth: oauth && sealedOAuth(id, oauth, { current: current?.oauth, box, moves: isMoved }),
    }),
  };
}

/** Encrypts the secrets of one member. A secret given as the mask keeps its stored value. */
type Seal = (member: 'env' | 'headers', given: Secrets, current?: Secrets) => Record<string, string>;

function sealFor(id: string, box: SecretBox): Seal {
  return (member, given, current = {}) => {
    const sealed = Object.entries(given).map(([name, value]) => {
      const place = secretContext(id, member, name);
      return [name, sealSecret(value, { box, place, path: `${member}.${name}`, current: current[name] })];
    });
    return Object.fromEntries(sealed);
  };
}

type OAuth = NonNullable<IntegrationRecord['oauth']>;

interface AuthInput {
  readonly headers?: Readonly<Record<string, string>> | null | undefined;
  readonly auth?: IntegrationAuth | null | undefined;
  readonly oauth?: OAuth | null | undefined;
}

/** Checks that the members fit together. @throws ToolError that names those that do not */
export function requireAuth({ headers, auth, oauth }: AuthInput): void {
  const names = Object.keys(headers ?? {});
  const issues: Issue[] = [];
  if (auth === 'none' && names.length > 0) {
    issues.push({
      path: 'headers',
      message: 'Auth "none" takes none; leave them out or give auth "headers".',
    });
  }
  const own = names.find((name) => name.toLowerCase() === 'authorization');
  if (isOAuth(auth) && own !== undefined) {
    issues.push({ path: `headers.${own}`, message: 'Comes from the account with this auth; leave it out.' });
  }
  if (oauth && !isOAuth(auth)) {
    issues.push({
      path: 'oauth',
      message: 'Is for auth "oauth-shared" and "oauth-per-person"; leave it out or give one of them.',
    });
  }
  if (oauth?.clientSecret !== undefined && oauth.clientId === undefined) {
    issues.push({ path: 'oauth.clientId', message: 'Is required with the secret; give the id of the client.' });
  }
  if (issues[0]) throw new ToolError('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
}

export function withChange(
  { headers, auth, oauth }: Pick<IntegrationRecord, 'headers' | 'auth' | 'oauth'>,
  change: AuthInput,
): AuthInput {
  return {
    headers: change.headers === undefined ? headers : change.headers,
    auth: change.auth === undefined ? auth : change.auth,
    oauth: change.oauth === undefined ? oauth : change.oauth,
  };
}

/** The members to store, encrypted. A masked secret is kept, for the provider and server that it was given for. @throws ToolError */
function sealedOAuth(
  id: string,
  given: OAuth,
  { current, box, moves }: { readonly current?: OAuth | undefined; readonly box: SecretBox; readonly moves: boolean },
): OAuth {
  const { clientSecret, ...others } = given;
  if (clientSecret === undefined) return others;
  const issuer = clientSecret === SECRET_MASK ? (others.issuer ?? current?.issuer) : others.issuer;
  const isOther = moves || current?.clientId !== others.clientId || current?.issuer !== issuer;
  const sealed = sealSecret(clientSecret, {
    ...{ box, place: clientSecretContext(id), path: 'oauth.clientSecret' },
    ...{ current: current?.clientSecret, moves: isOther },
  });
  return { ...others, clientSecret: sealed, ...(issuer !== undefined && { issuer }) };
}
