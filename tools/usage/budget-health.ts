import type { BudgetRecord } from '../../resources/budget.ts';
import type { IntegrationHealth } from '../../resources/health.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import type { StorageState } from '../core/access/storage.ts';
import { msSince } from '../core/registry/dependency-health.ts';
import { allOf } from '../core/registry/paging.ts';
import { readSettings } from '../settings/settings.ts';
import { nameOf, showState, stateAt } from './budget-state.ts';

const MOST_NAMED = 10;

/** Budgets that warn or are used up, until they renew. Only callers who may read budgets see which. */
export async function budgetHealth(
  store: Pick<Readers, 'budgets' | 'settings'>,
  { rights }: Principal,
  now: Date,
): Promise<IntegrationHealth[]> {
  const started = performance.now();
  const { timezone } = await readSettings(store);
  const enabled = await allOf(store.budgets, { where: { enabled: true } });
  const levelOf = (budget: BudgetRecord) => showState(budget, stateAt(budget, now, timezone)).state;
  const named = rights.allows({ scope: 'admin', needs: [{ resource: 'budget', op: 'read' }] });
  const told = (words: string, level: 'warned' | 'reached') => {
    const found = enabled.filter((budget) => levelOf(budget) === level);
    if (found.length === 0) return [];
    const names = found.slice(0, MOST_NAMED).map((budget) => `${budget.id} of the ${nameOf(budget.subject)}`);
    const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more, see list_budgets` : '';
    return [`${words}: ${named ? `${names.join(', ')}${more}` : 'some'}.`];
  };
  const errors = [
    ...told('Budgets that are used up, so that calls are refused until they renew', 'reached'),
    ...told('Budgets that are used to the part at which they warn', 'warned'),
  ];
  if (errors.length === 0) return [];
  const lastError = errors.join(' ');
  return [{ name: 'budgets', kind: 'budgets', status: 'degraded', latencyMs: msSince(started), lastError }];
}

/** Limits of storage that are nearly reached. Only callers who may read keys see whose. */
export function storageHealth(
  { nearlyFull }: StorageState,
  { rights }: Principal,
  started: number,
): IntegrationHealth[] {
  if (nearlyFull.length === 0) return [];
  const named = rights.allows({ scope: 'admin', needs: [{ resource: 'key', op: 'read' }] });
  const shown = nearlyFull.filter(({ id }) => named || id === 'workspace').slice(0, MOST_NAMED);
  const more = nearlyFull.length - shown.length;
  const texts = [
    ...shown.map(({ text }) => text),
    ...(more > 0 ? [`The storage of ${more} callers is nearly full.`] : []),
  ];
  const lastError = texts.join(' ');
  return [{ name: 'storage', kind: 'storage', status: 'degraded', latencyMs: msSince(started), lastError }];
}
