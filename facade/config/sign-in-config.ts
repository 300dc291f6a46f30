import { isIP } from 'node:net';
import { z } from 'zod';
import { namesUser } from '../../resources/fields.ts';

/** The environment variables for signing in. */
export const signInEnvironment = {
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an https URL' })
    .refine((url) => url.startsWith('https:') || isLoopback(url), 'must be an https URL; http is for loopback alone')
    .refine((url) => !namesUser(url), 'must hold no user and password; use OIDC_CLIENT_ID and OIDC_CLIENT_SECRET')
    .refine(
      (url) => !/\/\.well-known\/|[?#]/.test(url),
      'must be the issuer itself, without /.well-known/, query and fragment',
    )
    .optional()
    .describe('OpenID Connect provider to sign in with, e.g. https://login.example.com.'),
  OIDC_CLIENT_ID: z.string().min(1).optional().describe('Client id that the provider gave this server.'),
  OIDC_CLIENT_SECRET: z.string().optional().describe('Client secret; without one this is a public client.'),
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an smtp or smtps URL' })
    .optional()
    .describe(
      'Mail server for sign-in links, e.g. smtps://user:password@mail.example.com. Default: links are printed.',
    ),
  MAIL_FROM: z
    .string()
    .regex(
      /^(?:[^<>\p{Cc}]*<[^<>\s@]+@[^<>\s@]+>|[^<>\s@]+@[^<>\s@]+)$/u,
      'must be an e-mail address, or a name and <address>',
    )
    .optional()
    .describe('Sender of these mails. Default: agent-admin at the host of BASE_URL.'),
};

const variables = z.object(signInEnvironment);
type Variables = z.output<typeof variables>;
/** The values that the operator set, valid or not. */
type GivenVariables = { readonly [Name in keyof Variables]?: string | undefined };

/** This server as a client of an OpenID Connect provider. */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
}

export interface SignInSettings {
  /** Undefined: people can sign in by link only. */
  readonly oidc: OidcSettings | undefined;
  /** Undefined: mails are printed. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
}

/** What is wrong with the variables together, each as `name: problem`. */
export function signInProblems({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }: GivenVariables): string[] {
  const required = { OIDC_ISSUER, OIDC_CLIENT_ID };
  if ([OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET].every((value) => value === undefined)) return [];
  const missing = Object.entries(required).filter(([, value]) => value === undefined);
  return missing.map(([name]) => `${name}: is missing; give OIDC_ISSUER and OIDC_CLIENT_ID, or neither`);
}

export function signInSettings(given: Variables, baseUrl: string | undefined): SignInSettings {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = given;
  return {
    oidc: issuer === undefined || clientId === undefined ? undefined : { issuer, clientId, clientSecret },
    smtpUrl: given.SMTP_URL,
    mailFrom: given.MAIL_FROM ?? `agent-admin <agent-admin@${hostOf(baseUrl)}>`,
  };
}

/** Whether a URL leads to this machine. False for a malformed URL. */
export function isLoopback(url: string): boolean {
  const hostname = URL.canParse(url) ? new URL(url).hostname : '';
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

function hostOf(url = 'http://localhost'): string {
  const { hostname } = new URL(url);
  return isIP(hostname.replace(/[[\]]/g, '')) === 0 ? hostname : 'localhost';
}
