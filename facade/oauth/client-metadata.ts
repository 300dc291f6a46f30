import { z } from 'zod';
import { namesUser } from '../../resources/fields.ts';
import { redirectProblem } from '../../tools/apps/oauth-clients.ts';
import { OAuthError } from './answers.ts';

const LONGEST_NAME = 200;
const MOST_REDIRECTS = 50;
const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;
type AuthMethod = (typeof METHODS)[number];

/** The members of RFC 7591 that count here. Others are ignored, as the specification has it. */
const given = z.object({
  client_name: z.string().max(1000).optional(),
  redirect_uris: z.array(z.string().min(1).max(2000)).min(1).max(MOST_REDIRECTS),
  token_endpoint_auth_method: z.enum(METHODS).default('none'),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  jwks: z.object({ keys: z.array(z.record(z.string(), z.unknown())).max(20) }).optional(),
  jwks_uri: z
    .url({ protocol: /^https$/ })
    .max(2000)
    .refine((url) => !namesUser(url), 'must hold no user and password')
    .optional(),
});

export interface ClientMetadata {
  readonly client_name?: string;
  readonly redirect_uris: string[];
  readonly token_endpoint_auth_method: AuthMethod;
  readonly jwks?: { readonly keys: Record<string, unknown>[] };
  readonly jwks_uri?: string;
}

/** Reads what a client says of itself. @throws OAuthError (invalid_client_metadata, invalid_redirect_uri) */
export function readClientMetadata(document: unknown): ClientMetadata {
  const { data, error } = given.safeParse(document);
  if (!data) {
    const [issue] = error.issues;
    const member = issue?.path.join('.') ?? '';
    const code = member.startsWith('redirect_uris') ? 'invalid_redirect_uri' : 'invalid_client_metadata';
    throw new OAuthError(code, `${member === '' ? 'The metadata' : member}: ${issue?.message}`);
  }
  requireMember('grant_types', data.grant_types, 'authorization_code');
  requireMember('response_types', data.response_types, 'code');
  for (const uri of data.redirect_uris) {
    const problem = redirectProblem(uri);
    if (problem !== undefined) throw new OAuthError('invalid_redirect_uri', `${uri.slice(0, 200)}: ${problem}`);
  }
  const { token_endpoint_auth_method: method, jwks, jwks_uri } = data;
  if (method === 'private_key_jwt' && !jwks && jwks_uri === undefined) {
    throw new OAuthError('invalid_client_metadata', 'private_key_jwt needs jwks or jwks_uri.');
  }
  const name = plainName(data.client_name);
  return {
    ...(name !== undefined && { client_name: name }),
    redirect_uris: [...new Set(data.redirect_uris)],
    token_endpoint_auth_method: method,
    ...(jwks ? { jwks } : jwks_uri !== undefined && { jwks_uri }),
  };
}

function requireMember(member: string, values: readonly string[] | undefined, needed: string): void {
  if (values && !values.includes(needed)) {
    throw new OAuthError(
      'invalid_client_metadata',
      `${member}: must contain ${needed}, which is all this server does.`,
    );
  }
}

/** The name in one line, without marks that hide or turn letters. Undefined if nothing is left. */
function plainName(name = ''): string | undefined {
  const plain = name.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  return plain === '' ? undefined : [...plain].slice(0, LONGEST_NAME).join('');
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
export const THIS_COMPUTER = 'this computer';

/** Where answers go, as the person sees it: a host, this computer, or the app that has the scheme. */
export function redirectHost(uri: string): string {
  const { protocol, hostname, host } = new URL(uri);
  if (protocol === 'https:') return host;
  return protocol === 'http:' && LOOPBACK.has(hostname) ? THIS_COMPUTER : `the app for ${protocol}//`;
}
