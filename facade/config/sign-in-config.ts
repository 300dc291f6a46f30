import { isIP } from 'node:net';
import { z } from 'zod';
import { namesUser } from '../../resources/fields.ts';

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
      'Mail server for sign-in links, webhooks by e-mail and send_mail, e.g. smtps://user:password@mail.example.com. Default: links and mails of webhooks are printed, send_mail is refused.',
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

type Variables = z.output<z.ZodObject<typeof signInEnvironment>>;
/** The values that the operator set, valid or not. */
type GivenVariables = { readonly [Name in keyof Variables]?: string | undefined };

/** What is wrong with the variables together, each as `name: problem`. */
export function signInProblems({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }: GivenVariables): string[] {
  if (!OIDC_ISSUER && !OIDC_CLIENT_ID && !OIDC_CLIENT_SECRET) return [];
  const missing = Object.entries({ OIDC_ISSUER, OIDC_CLIENT_ID }).filter(([, value]) => value === undefined);
  return missing.map(([name]) => `${name}: is missing; give OIDC_ISSUER and OIDC_CLIENT_ID, or neither`);
}

/** Without `oidc`, people sign in by link only; without `smtpUrl`, mails are printed. */
export function signInSettings(given: Variables, baseUrl: string | undefined) {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret } = given;
  return {
    oidc: issuer === undefined || clientId === undefined ? undefined : { issuer, clientId, clientSecret },
    smtpUrl: given.SMTP_URL,
    mailFrom: given.MAIL_FROM ?? `agent-admin <agent-admin@${hostOf(baseUrl)}>`,
  };
}
export type OidcSettings = Readonly<NonNullable<ReturnType<typeof signInSettings>['oidc']>>;

/** Whether a URL leads to this machine. False for a malformed URL. */
export function isLoopback(url: string): boolean {
  const hostname = URL.canParse(url) ? new URL(url).hostname : '';
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

function hostOf(url = 'http://localhost'): string {
  const { hostname } = new URL(url);
  return isIP(hostname.replace(/[[\]]/g, '')) === 0 ? hostname : 'localhost';
}
