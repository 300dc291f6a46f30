import { useState } from 'preact/hooks';

/** One piece of work at a time: whether it is under way, and why the last one failed. */
export interface Action {
  readonly busy: boolean;
  readonly error: unknown;
  /** Resolves to whether it was done. `onError` is told why not. */
  run(work: () => unknown, onError?: (problem: unknown) => void): Promise<boolean>;
}

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run: Action['run'] = async (work, onError) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
      return true;
    } catch (problem) {
      setError(problem);
      onError?.(problem);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run };
}
