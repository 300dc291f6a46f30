import { z } from 'zod';
import type { Readers } from '../../store/port.ts';
import { ToolError } from '../core/errors.ts';
import { errorOf } from '../core/registry/call.ts';
import type { CallingContext } from '../core/registry/context.ts';
import type { MailAttachment } from './outgoing.ts';
import { type ReportFormat, reportFile } from './report-files.ts';

export const attachmentType = z.enum(['artifact', 'document', 'report']);

/** In bytes, of all attachments of a mail together. */
export const MOST_ATTACHED = 5_000_000;

interface Wanted {
  readonly type: z.infer<typeof attachmentType>;
  readonly id: string;
  /** Of a report. */
  readonly format?: ReportFormat | undefined;
}

type Caller = Pick<CallingContext<Readers, never>, 'call'>;

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
  const { extension, contentType, text } = reportFile(report, format);
  return { filename: `${fileName(report.title)}.${extension}`, contentType, content: Buffer.from(text) };
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
