import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Readers } from '../../store/port.ts';
import { ToolError } from '../core/errors.ts';
import { errorOf } from '../core/registry/call.ts';
import type { CallingContext } from '../core/registry/context.ts';
import { apart } from './mail-parts.ts';
import type { MailAttachment } from './outgoing.ts';
import { columnsOf, pictureOf, type ReportFormat, reportFile } from './report-files.ts';
import type { Picture } from './report-picture.ts';

export const attachmentType = z.enum(['artifact', 'document', 'report']);

/** In bytes, of all attachments of a mail together. */
export const MOST_ATTACHED = 5_000_000;

interface Wanted {
  readonly type: z.infer<typeof attachmentType>;
  readonly id: string;
  /** Of a report. */
  readonly format?: ReportFormat | undefined;
}

export type Caller = Pick<CallingContext<Readers, never>, 'call' | 'principal'>;

/** The record as a file, read by the rights of the caller. @throws ToolError as the tool that reads it */
export async function attachmentOf({ type, id, format = 'csv' }: Wanted, context: Caller): Promise<MailAttachment> {
  if (type === 'artifact') {
    const { name, mimeType, content = '', data } = await read('get_artifact', { id }, context);
    const bytes = data === undefined ? Buffer.from(content) : Buffer.from(data, 'base64');
    return { filename: fileName(name), contentType: mimeType, content: bytes };
  }
  if (type === 'document') {
    const { title, content } = await read('get_document', { id }, context);
    return {
      filename: `${fileName(title)}.md`,
      contentType: 'text/markdown; charset=utf-8',
      content: Buffer.from(content),
    };
  }
  const report = await read('get_report', { id, render: true }, context);
  const name = fileName(report.title);
  if (format === 'png') {
    const picture = pictureOf(report);
    if (picture)
      return {
        filename: `${name}.png`,
        contentType: 'image/png',
        content: await draw(picture, context),
        cid: randomUUID(),
      };
    throw new ToolError('conflict', `The report ${report.title} has no numbers to draw; send it as csv or markdown.`, {
      notMade: true,
    });
  }
  const { extension, contentType, text } = reportFile(report, format);
  return { filename: `${name}.${extension}`, contentType, content: Buffer.from(text) };
}

/** The numbers of a report as a text of equally wide letters, below its title. @throws ToolError as get_report */
export async function reportText(id: string, context: Caller): Promise<string> {
  const { title, asOf, ...report } = await read('get_report', { id, render: true }, context);
  return `*${title}*, as of ${asOf}\n\`\`\`\n${columnsOf(report.result)}\n\`\`\``;
}

/** A tenth of a second on a machine with nothing else to do. */
const PICTURE_MS = 10_000;

async function draw(picture: Picture, { principal }: Caller): Promise<Buffer> {
  const drawn = await apart(
    {
      module: new URL('./report-picture.ts', import.meta.url),
      name: 'drawPicture',
      args: [picture],
      timeoutMs: PICTURE_MS,
    },
    principal,
  );
  if (drawn !== undefined) return Buffer.from(drawn as string, 'base64'); // what the function returns
  throw new ToolError('unavailable', 'The picture of the report could not be drawn; send it as csv or markdown.', {
    notMade: true,
  });
}

// biome-ignore lint/suspicious/noExplicitAny: the output is that of the tool
async function read(tool: string, input: object, { call }: Caller): Promise<any> {
  const answer = await call(tool, input);
  if (!answer.ok) {
    const { code, message, detail } = errorOf(answer.error);
    throw new ToolError(code, message, { ...detail, notMade: true }); // all is read before the mail is sent
  }
  return answer.output;
}

/** A name that every system takes. */
function fileName(text: string): string {
  return (
    text
      .replace(/[^\p{L}\p{N} ._-]+/gu, '-')
      .replace(/^[.\s-]+/, '')
      .slice(0, 100)
      .trim() || 'file'
  );
}
