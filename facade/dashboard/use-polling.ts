import { useEffect } from 'preact/hooks';
import { invalidate } from './store.ts';

const FIRST_MS = 1000;
const LONGEST_MS = 10_000;
const SLOWER = 1.5;
const RENEWED =
  /^(get_flow_run|list_flow_runs|list_flow_deliveries|list_webhook_deliveries|list_budgets|get_system_health)$/;

/**
 * Asks for runs again while one is under way, and for deliveries, what is used of budgets and how embedding goes: they are not records that could be followed.
 * What ends soon is seen to end soon, and the longer a run takes, the less often it is asked for.
 */
export function usePolling(underWay: boolean): void {
  useEffect(() => {
    if (!underWay) return undefined;
    let wait = FIRST_MS;
    let timer: ReturnType<typeof setTimeout>;
    const later = () => {
      timer = setTimeout(() => {
        wait = Math.min(LONGEST_MS, wait * SLOWER);
        if (document.visibilityState === 'visible') invalidate((tool) => RENEWED.test(tool));
        later();
      }, wait);
    };
    later();
    return () => clearTimeout(timer);
  }, [underWay]);
}
