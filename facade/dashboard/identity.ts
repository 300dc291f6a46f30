import { useLayoutEffect, useState } from 'preact/hooks';

type Settle = (confirmed: boolean) => void;

let asked: Promise<boolean> | undefined;
let settle: Settle | undefined;
let draw = () => {};

/** Asks the person to confirm that it is them. Calls that need it at the same time share the question. Resolves to whether they did. */
export function askIdentity(): Promise<boolean> {
  asked ??= new Promise((resolve) => {
    settle = (confirmed) => {
      asked = undefined;
      settle = undefined;
      resolve(confirmed);
      draw();
    };
    draw();
  });
  return asked;
}

/** The answer to give while the person is asked. */
export function useIdentityQuestion(): Settle | undefined {
  const [, set] = useState({});
  useLayoutEffect(() => {
    draw = () => set({});
  }, []);
  return settle;
}
