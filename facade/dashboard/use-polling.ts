import { useEffect } from 'preact/hooks';
import { invalidate } from './answer-cache.ts';

const FIRST_MS = 1000;
/** On pages that ask for much at once and are looked at for long. */
const WATCHING_MS = 30_000;
const LONGEST_MS = 10_000;
const SLOWER = 1.5;
const RENEWED =
  /^(get_flow_run|list_flow_runs|get_agent_run|list_agent_runs|explain_answer|list_audit_entries|get_capsule|get_usage|list_flow_deliveries|list_webhook_deliveries|list_webhooks|list_integrations|list_connections|list_budgets|get_system_health)$/;

/** Asks now and then for what a page shows, while somebody looks at it: each call is one more entry of the audit log. */
export function useWatching(everyMs = WATCHING_MS): void {
  useEffect(() => {
    const timer = setInterval(renewShown, everyMs);
    return () => clearInterval(timer);
  }, []);
}

function renewShown(): void {
  if (document.visibilityState === 'visible') invalidate((tool) => RENEWED.test(tool));
}

/**
 * Asks for runs again while one is under way, and for calls, usage, deliveries, what is used of budgets and how embedding goes: they are not
 * records that could be followed. What is there stays while it is asked for, also while the server is away, and then what was missed comes.
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
        renewShown();
        later();
      }, wait);
    };
    later();
    return () => clearTimeout(timer);
  }, [underWay]);
}
