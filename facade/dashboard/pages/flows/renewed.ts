import { useEffect } from 'preact/hooks';
import { invalidate } from '../../store.ts';

const EVERY_MS = 1000;

/** Asks for runs again while one is under way: their steps are no records that could be followed. */
export function useRenewed(underWay: boolean): void {
  useEffect(() => {
    if (!underWay) return undefined;
    const timer = setInterval(() => invalidate((tool) => /^(get_flow_run|list_flow_runs)$/.test(tool)), EVERY_MS);
    return () => clearInterval(timer);
  }, [underWay]);
}
