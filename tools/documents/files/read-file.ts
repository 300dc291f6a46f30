import type { Principal } from '../../core/access/principal.ts';
import { type Fail, ToolError } from '../../core/errors.ts';
import { Busy, type JobOutcome, SideProcess } from '../../core/side-process/side-process.ts';
import { type ConvertedFile, convertFile } from './convert.ts';
import { CONVERSION_LIMITS, type ConversionLimits, type FileProblem, MOST_FILE_BYTES } from './limits.ts';

export const CONVERSION_MS = 30_000;
export const MOST_MEGABYTES = 768;
/** Up to this size, decoding a text takes no longer than answering. */
const SMALL_TEXT = 64 * 1024;
const PLAIN = /\.(?:md|markdown|txt)$/i;
const BINARY = /^(?:%PDF|PK|\s*<)/;

const module = new URL('./convert.ts', import.meta.url);
const apart = new SideProcess({ mostMegabytes: MOST_MEGABYTES, boundsAll: true, mostWaiting: 50 });

interface Reading {
  readonly principal: Principal;
  readonly fail: Fail<'too_large' | 'unsupported_media_type'>;
}

/** The file as Markdown. @throws ToolError that says what to do with the file */
export async function readFile(
  bytes: Buffer,
  name: string,
  { principal, fail }: Reading,
  limits: ConversionLimits = CONVERSION_LIMITS,
): Promise<ConvertedFile> {
  if (bytes.length > MOST_FILE_BYTES) {
    throw fail('too_large', `The file is larger than ${MOST_FILE_BYTES} bytes; split it and send the parts.`);
  }
  const found = isPlain(bytes, name) ? await convertFile(bytes, name, limits) : await convertApart();
  if ('problem' in found) throw new ToolError(found.problem.code, found.problem.message);
  return found;

  async function convertApart(): Promise<ConvertedFile | { readonly problem: FileProblem }> {
    const args = [bytes, name, limits];
    const job = { module, name: 'convertFile', args, timeoutMs: CONVERSION_MS, caller: principal.id };
    const outcome: JobOutcome = await apart.run(job).catch((thrown) => {
      if (!(thrown instanceof Busy)) throw thrown;
      throw fail('unavailable', 'Too many files of yours are waiting; send this one again later.', { notMade: true });
    });
    if ('value' in outcome) return outcome.value as Awaited<ReturnType<typeof convertFile>>; // what the function returns
    if ('ended' in outcome) {
      throw fail('too_large', `The file cannot be read: ${outcome.ended}; split it, or save it in a simpler form.`);
    }
    const message = 'The file cannot be read, as it is damaged or unusual; save it again with another program.';
    throw new ToolError('invalid_input', message, {}, new Error(outcome.thrown));
  }
}

function isPlain(bytes: Buffer, name: string): boolean {
  return bytes.length <= SMALL_TEXT && PLAIN.test(name) && !BINARY.test(bytes.toString('latin1', 0, 100));
}
