import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import { Busy, type Job, SideProcess } from '../core/side-process/side-process.ts';

/** Markdown can take minutes to read and a picture much memory, so both are made where that holds up nobody else. */
const sideProcess = new SideProcess({ mostMegabytes: 256, mostWaiting: 20 });

/** What the function returns; undefined where it failed or took too long. @throws ToolError (unavailable) where too many wait */
export async function apart(job: Omit<Job, 'caller'>, { id: caller }: Principal): Promise<unknown> {
  const outcome = await sideProcess.run({ ...job, caller }).catch((thrown) => {
    if (!(thrown instanceof Busy)) throw thrown;
    throw new ToolError('unavailable', 'Too many mails of yours are waiting; send this one again later.', {
      notMade: true,
    });
  });
  return 'value' in outcome ? outcome.value : undefined;
}
