import type { VersionDiff } from '../../resources/version.ts';
import type { Fail } from '../core/errors.ts';
import { contentOf } from '../core/history/history.ts';
import { SizeBudget, truncated } from '../core/history/size-budget.ts';
import type { HistoryOptions, Payload } from '../core/kind.ts';
import type { Context } from '../core/registry/context.ts';
import { Busy, type JobOutcome, SideProcess } from '../core/side-process/side-process.ts';
import { diffStates, type State } from './diff.ts';

/** Up to this size of both states together, in characters of JSON, comparing takes no longer than answering. */
const SMALL = 4 * 1024;
export const MOST_MS = 5000;

const module = new URL('./diff.ts', import.meta.url);
const apart = new SideProcess({ mostMegabytes: 512, mostWaiting: 16 });

type Caller = Pick<Context<unknown, 'too_large'>, 'fail' | 'principal'>;

/** What changed between the payloads. Large ones are compared in a process of their own. @throws ToolError (too_large, unavailable) */
export async function diffPayloads(
  history: Pick<HistoryOptions, 'text'>,
  [from, to]: readonly [Payload, Payload],
  { fail, principal }: Caller,
): Promise<VersionDiff> {
  const states = [stateOf(history, from), stateOf(history, to)] as const;
  if (isSmall(states)) return diffStates(...states);
  const outcome = await compare(states, principal.id, fail);
  if ('value' in outcome) return outcome.value as VersionDiff; // the function returns a diff
  if ('thrown' in outcome) throw new Error(outcome.thrown);
  const next = 'read each of them with get_version instead';
  throw fail('too_large', `The two states are too large to compare: ${outcome.ended}; ${next}.`);
}

async function compare(args: readonly State[], caller: string, fail: Fail<'too_large'>): Promise<JobOutcome> {
  try {
    return await apart.run({ module, name: 'diffStates', args, timeoutMs: MOST_MS, caller });
  } catch (thrown) {
    if (!(thrown instanceof Busy)) throw thrown;
    throw fail('unavailable', 'Too many comparisons of yours are waiting; ask again in a few seconds.');
  }
}

function stateOf({ text }: Pick<HistoryOptions, 'text'>, payload: Payload): State {
  if (text === undefined) return { members: payload };
  const { [text]: _, ...members } = payload;
  return { text: contentOf({ text }, payload), members };
}

function isSmall(states: readonly State[]): boolean {
  const room = new SizeBudget(SMALL);
  truncated(states, room);
  return room.left > 0;
}
