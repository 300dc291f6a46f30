import type { FlowRunRecord } from '../../resources/flow-run.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { ANSWER_RETENTION_MS, type CallFingerprint, requireSameInput } from '../core/registry/idempotency.ts';

/** What a run keeps of who began it, so that the same call made again finds it. */
export type RunOrigin = Pick<FlowRunRecord, 'begunBy' | 'begunWith'>;

interface RunTrigger {
  readonly principal: Principal;
  readonly repeat: CallFingerprint | undefined;
}

/** A step of another run names the attempt at it, others the key of their call. */
export function runOriginOf({ principal, repeat }: RunTrigger): RunOrigin {
  if (principal.type === 'flow') return { begunBy: principal.attempt };
  return repeat ? { begunBy: repeat.key, begunWith: repeat.inputHash } : {};
}

/**
 * The run that the same attempt, or an earlier call under the same key, began while its answer was not kept.
 * @throws InputMismatch if that call had another input
 */
export async function earlierRun(
  { flowRuns }: Pick<Readers, 'flowRuns'>,
  { principal, repeat }: RunTrigger,
  now: Date,
): Promise<FlowRunRecord | undefined> {
  const { begunBy, begunWith } = runOriginOf({ principal, repeat });
  if (begunBy === undefined) return undefined;
  const isCall = begunWith !== undefined;
  const from = isCall ? new Date(now.getTime() - ANSWER_RETENTION_MS).toISOString() : undefined;
  const run = await flowRuns.first({ where: { begunBy }, from });
  if (run && isCall && repeat) requireSameInput(repeat, run.begunWith);
  return run;
}
