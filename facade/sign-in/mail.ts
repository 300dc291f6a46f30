import type { Logger } from 'pino';
import type { MailAttachment } from '../../tools/connections/outgoing.ts';
import { loadPackage } from '../../tools/core/load-package.ts';
import { Scrubber } from '../../tools/core/outbound/untrusted-text.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';
import { ProbedDependency } from '../../tools/core/registry/dependency-health.ts';
import { passwordsIn } from '../config/config-secrets.ts';

interface Mail {
  readonly to: string | readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html?: string;
  readonly attachments?: readonly MailAttachment[];
}

/** The mail with a sign-in link. It also says what to do for somebody who did not ask for it. */
export function linkMail(link: { readonly to: string; readonly workspace: string; readonly url: string }): Mail {
  const { to, workspace, url } = link;
  const text = `Open this link to sign in to ${workspace}, in the browser in which you asked for it:

${url}

It works once, within 10 minutes. If you did not ask for it, do nothing: without the link nobody gets in.
`;
  return { to, subject: `Sign in to ${workspace}`, text };
}

export interface Mailer extends Dependency {
  readonly kind: 'smtp' | 'console';
  /** Takes the mail and returns at once. A failure is logged and shown by `health`. */
  send(mail: Mail): void;
  /** Resolves to the id of the mail when the mail server has taken it. Rejects if it does not. */
  deliver(mail: Mail): Promise<string>;
  /** Waits a while for mails that are being sent. */
  close(): Promise<void>;
}

interface MailerOptions {
  /** Undefined: mails are printed. */
  readonly smtpUrl: string | undefined;
  readonly mailFrom: string;
  readonly logger: Logger;
}

export function createMailer({ smtpUrl, ...options }: MailerOptions): Mailer {
  return smtpUrl === undefined ? createPrinter() : createSmtpMailer({ smtpUrl, ...options });
}

/** Without limits, a mail server that accepts a connection and stays silent would hold a mail for ever. */
const TIME_LIMITS = { dnsTimeout: 5000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 20_000 };
const CLOSE_MS = 5000;

/** The connection to the mail server. Its code is loaded if there is one. */
export async function createSmtpTransport(smtpUrl: string, mailFrom: string) {
  const { createTransport } = await loadPackage('nodemailer', () => import('nodemailer'));
  return createTransport(
    { url: smtpUrl, ...TIME_LIMITS, disableFileAccess: true, disableUrlAccess: true },
    { from: mailFrom, headers: { 'Auto-Submitted': 'auto-generated' } },
  );
}

function createSmtpMailer({ smtpUrl, mailFrom, logger }: MailerOptions & { readonly smtpUrl: string }): Mailer {
  const transport = createSmtpTransport(smtpUrl, mailFrom);
  const server = new ProbedDependency({
    name: 'mail',
    kind: 'smtp',
    probe: async () => (await transport).verify().catch(withoutPassword),
    onFailure: (err) => logger.error({ err }, 'the mail server does not work'),
  });
  const sending = new Set<Promise<unknown>>();
  // Mail servers quote what they refuse.
  const scrubber = new Scrubber(passwordsIn(smtpUrl));
  const withoutPassword = (error: Error): never => {
    throw scrubber.error(error);
  };
  void server.check();

  const deliver = async ({ to, attachments = [], ...mail }: Mail) => {
    const sent = { ...mail, to: [to].flat(), attachments: [...attachments] };
    const { messageId } = await server.use(async () => (await transport).sendMail(sent).catch(withoutPassword));
    return messageId;
  };

  return {
    kind: 'smtp',
    send(mail) {
      const delivery: Promise<unknown> = deliver(mail)
        .catch((err: unknown) => logger.error({ err, subject: mail.subject }, 'a mail was not sent'))
        .finally(() => sending.delete(delivery));
      sending.add(delivery);
    },
    deliver,
    health: () => server.health(),
    async close() {
      const deadline = new Promise((resolve) => void setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([Promise.all(sending), deadline]);
      (await transport).close();
    },
  };
}

/**
 * Without a mail server the operator passes the mail on. It is printed on standard output, which operators read; the log contains no links.
 */
function createPrinter(): Mailer {
  const line = '-'.repeat(78);
  const print = ({ to, subject, text }: Mail) =>
    console.log(
      `\n${line}\nNo SMTP_URL is set, so this mail is printed here.\nTo: ${to}\nSubject: ${subject}\n\n${text}\n${line}\n`,
    );
  return {
    kind: 'console',
    send: print,
    deliver: async (mail) => {
      print(mail);
      return '';
    },
    health: async () => [{ name: 'mail', kind: 'console', status: 'ok', latencyMs: 0 }],
    close: async () => {},
  };
}
