import type { WebsiteRow, WebsiteState } from '../../../resources/imported-rows.ts';
import type { States } from './states.ts';

interface WebsiteStep {
  readonly time: number;
  readonly state: WebsiteState;
}

/** The states of a website in order: a draft from its creation, then what each statement says. Equal neighbours are joined. */
export function websiteHistory(states: States<WebsiteRow>): WebsiteStep[] {
  const [first] = states.list;
  if (!first) return [];
  const created = Date.parse(first.row.createdAt);
  const steps: WebsiteStep[] = [{ time: created, state: 'draft' }];
  for (const { from, row } of states.list) {
    // A site that is suspended now was published before, if it has a time of publication.
    if (row.publishedAt !== undefined && first.row === row) {
      steps.push({ time: Math.max(created, Math.min(from, Date.parse(row.publishedAt))), state: 'published' });
    }
    steps.push({ time: Math.max(created, from), state: row.state });
  }
  const lasting = steps.filter(({ time }, at) => steps[at + 1]?.time !== time);
  return lasting.filter(({ state }, at) => lasting[at - 1]?.state !== state);
}
