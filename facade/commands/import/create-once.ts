import { createHash } from 'node:crypto';
import { STILL_RUNNING } from '../../../tools/core/registry/idempotency.ts';
import type { ServerAnswer } from '../server-call.ts';

/** One call that makes a document, with an idempotency key. */
type Creation = (idempotencyKey: string) => Promise<ServerAnswer>;

interface OnceOptions {
  /** What tells the document from others: imports that give the same make one. */
  readonly identity: readonly unknown[];
  readonly create: Creation;
  /** Whether the document that a kept answer names still is the one of the file. */
  readonly isThere: (id: string) => Promise<boolean>;
  readonly wait: () => Promise<void>;
}

/** For the longest conversion, with what waits before it. */
const MOST_WAITS = 60;
/** Each stands for a document that was removed again, or for a refusal, within the day that answers are kept. */
const MOST_KEYS = 1000;

/**
 * Makes a document that another import may be making now. `replayed`: the other one made it. What was removed since is made again, and
 * what was refused before is tried again, under the next key, which is the same for all imports.
 */
export async function createOnce({ identity, create, isThere, wait }: OnceOptions): Promise<ServerAnswer> {
  let answer: ServerAnswer | undefined;
  let waits = 0;
  for (let number = 0; number < MOST_KEYS; ) {
    answer = await create(keyOf(identity, number));
    if ('failure' in answer && answer.failure.error === STILL_RUNNING) {
      if (waits >= MOST_WAITS) return answer;
      waits += 1;
      await wait();
      continue;
    }
    if (!isOfBefore(answer)) return answer;
    if ('output' in answer && (await isThere((answer.output as { readonly id: string }).id))) return answer; // of create_document
    number += 1;
  }
  return answer ?? { refusal: 'Nothing was sent.' };
}

/** A key whose answer is not kept, or not shown, is refused as a conflict, which nothing else is when a document is made. */
function isOfBefore(answer: ServerAnswer): boolean {
  if ('refusal' in answer) return false;
  return answer.replayed || ('failure' in answer && answer.failure.code === 'conflict');
}

function keyOf(identity: readonly unknown[], number: number): string {
  return `import-${createHash('sha256')
    .update(JSON.stringify([...identity, number]))
    .digest('base64url')}`;
}
