import { z } from 'zod';
import { email, plainLine, recordId } from '../../resources/fields.ts';
import type { SettingsRecord } from '../../resources/settings.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { GUEST_SCOPES } from '../core/access/scopes.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import { escapeHtml } from '../core/escape-html.ts';
import { ACTS_OUTSIDE, defineTool } from '../core/registry/define-tool.ts';
import { type TakenAlong, takenAlong } from '../core/registry/taken-along.ts';
import { readSettings } from '../settings/settings.ts';
import { attachmentOf, attachmentType, MOST_ATTACHED } from './attachments.ts';
import { outgoingOf } from './connections.ts';
import type { MailContent } from './mail-content.ts';
import { apart } from './mail-parts.ts';
import type { MailAttachment } from './outgoing.ts';
import { REPORT_FORMATS } from './report-files.ts';

const MOST_RECIPIENTS = 20;

export const sendMail = defineTool({
  name: 'send_mail',
  title: 'Send mail',
  description:
    'Send a mail in Markdown, with artifacts, documents or reports attached, to admin users and mailRecipients (settings).',
  keywords: 'e-mail somebody, write an email, mail a report, send the numbers by mail, notify by mail, newsletter',
  access: { scope: GUEST_SCOPES.writes, grant: 'mail:send' },
  guest: true,
  annotations: ACTS_OUTSIDE,
  inSteps: true,
  needsApproval: async (input, store, inPerson) => {
    const { to } = input as { readonly to: readonly string[] }; // of this tool
    const settings = await readSettings(store);
    await requireRecipients(to, settings, store); // a mail that cannot be sent asks nobody
    return settings.mailAskFirst !== false && !inPerson;
  },
  reaches(input, store, caller) {
    const { attachments = [] } = input as { readonly attachments?: readonly TakenAlong[] }; // of this tool
    return takenAlong(attachments, store, caller);
  },
  input: z.strictObject({
    to: z.array(email).min(1).max(MOST_RECIPIENTS),
    subject: plainLine(z.string().trim().min(1).max(200)),
    markdown: z.string().trim().min(1).max(100_000),
    attachments: z
      .array(
        z.strictObject({
          type: attachmentType,
          id: recordId,
          format: z.enum(REPORT_FORMATS).optional(),
        }),
      )
      .max(10)
      .optional()
      .describe(`${MOST_ATTACHED / 1_000_000} MB in all.`),
  }),
  output: z.object({ messageId: z.string() }),
  errors: ['not_found', 'conflict', 'too_large'],

  async handler({ to, subject, markdown, attachments = [] }, context) {
    const { store, server, principal } = context;
    const { sendMail } = outgoingOf(server);
    if (!sendMail) {
      throw new ToolError('unavailable', 'This server has no mail server: set SMTP_URL.', {
        notMade: true,
      });
    }
    const settings = await readSettings(store);
    await requireRecipients(to, settings, store);
    const content = await rendered(markdown, principal);
    const attached: MailAttachment[] = [];
    let left = MOST_ATTACHED;
    for (const wanted of attachments) {
      const one = await attachmentOf(wanted, context);
      left -= one.content.length;
      if (left < 0)
        throw context.fail('too_large', `The attachments have more than ${MOST_ATTACHED} bytes; send fewer, or links.`);
      attached.push(one);
    }
    try {
      return { messageId: await sendMail({ to, subject, ...withPictures(content, attached), attachments: attached }) };
    } catch (cause) {
      throw failure(cause);
    }
  },
});

/** The HTML shows attached pictures of reports below the text. */
function withPictures({ text, html }: MailContent, attachments: readonly MailAttachment[]): MailContent {
  const shown = attachments.flatMap(({ cid, filename }) =>
    cid === undefined ? [] : [`<p><img src="cid:${cid}" alt="${escapeHtml(filename)}" style="max-width:100%"></p>\n`],
  );
  return { text, html: html.replace('</body>', () => `${shown.join('')}</body>`) };
}

/** What goes wrong before a mail server has taken a mail. A connection that breaks off could have done so after that. */
const NOT_SENT = ['EAUTH', 'EENVELOPE', 'EMESSAGE', 'EDNS', 'ENOTFOUND'];
const NOT_CONNECTED = /^connect E/;

function failure(cause: unknown): ToolError {
  const { message, code = '' } = cause as NodeJS.ErrnoException; // of nodemailer, without the password
  const words = message.replace(/\s+/g, ' ').slice(0, 300);
  if (NOT_SENT.includes(code) || NOT_CONNECTED.test(message))
    return new ToolError('unavailable', `The mail was not sent: ${words}`, { notMade: true });
  return new ToolError('unavailable', `It is unknown whether the mail was sent; look before you try again. ${words}`);
}

/** Refuses addresses that are neither of people who may sign in here nor allowed by the settings. @throws ToolError (invalid_input) */
async function requireRecipients(
  to: readonly string[],
  { mailRecipients: { addresses, domains } = { addresses: [], domains: [] } }: Pick<SettingsRecord, 'mailRecipients'>,
  { adminUsers }: Pick<Readers, 'adminUsers'>,
): Promise<void> {
  for (const [index, given] of to.entries()) {
    const address = given.toLowerCase();
    const domain = address.slice(address.lastIndexOf('@') + 1);
    if (addresses.includes(address) || domains.includes(domain)) continue;
    if (await adminUsers.first({ where: { email: address, isActive: true } })) continue;
    throw invalidMember(
      `to[${index}]`,
      `Mails do not go to ${given}; name another, or have an admin allow it in mailRecipients of the settings.`,
    );
  }
}

/** Ordinary Markdown is read in a hundredth of it. */
const MARKDOWN_MS = 2000;

async function rendered(markdown: string, principal: Principal): Promise<MailContent> {
  const module = new URL('./mail-content.ts', import.meta.url);
  const content = await apart({ module, name: 'renderMail', args: [markdown], timeoutMs: MARKDOWN_MS }, principal);
  if (content !== undefined) return content as MailContent; // what the function returns
  throw invalidMember('markdown', 'Is too complex to read; write it in simpler Markdown.');
}
