import { createSignal } from './signal.ts';

type Settle = (confirmed: boolean) => void;

const question = createSignal<Settle | undefined>(undefined);
let asked: Promise<boolean> | undefined;

/** Asks the person to confirm that it is them. Calls that need it at the same time share the question. Resolves to whether they did. */
export function askIdentity(): Promise<boolean> {
  asked ??= new Promise((resolve) => {
    question.set((confirmed) => {
      asked = undefined;
      question.set(undefined);
      resolve(confirmed);
    });
  });
  return asked;
}

/** The answer to give while the person is asked. */
export const useIdentityQuestion = question.use;
