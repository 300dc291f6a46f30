import { type IntegrationRecord, SECRET_MASK } from '../../resources/integration.ts';
import { ToolError } from '../core/errors.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { sealedOAuth } from './auth-input.ts';
import { moves, type Secrets, type TargetInput } from './target.ts';
import { secretContext } from './upstream/upstreams.ts';

type MembersInput = Omit<TargetInput, 'transport'>;

type Sealed = Pick<IntegrationRecord, 'env' | 'headers' | 'oauth'>;
type Nullable<Members> = { readonly [Name in keyof Members]: Members[Name] | null };

interface SealedMembersDeps {
  readonly box: SecretBox;
  readonly current?: IntegrationRecord;
}

/** The members with secrets, encrypted, as far as they are given. */
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
      const kept = value === SECRET_MASK ? (current[name] ?? noSecret(member, name)) : undefined;
      return [name, kept ?? box.seal(value, secretContext(id, member, name))];
    });
    return Object.fromEntries(sealed);
  };
}

function noSecret(member: string, name: string): never {
  const message = `There is no stored value for ${SECRET_MASK} to keep; give the value itself.`;
  throw new ToolError('invalid_input', `${member}.${name}: ${message}`, {
    issues: [{ path: `${member}.${name}`, message }],
  });
}
