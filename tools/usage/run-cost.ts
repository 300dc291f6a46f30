import type { AgentRun, AgentTurn } from '../../resources/agent-run.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { costOf, type Pricing, priceOn, readPricing, unitsOf } from './prices.ts';

interface Asking {
  readonly store: Pick<Readers, 'settings' | 'modelProviders'>;
  readonly principal: Principal;
}

/** The prices by which a run is shown. Undefined for who may not read usage. */
export async function pricingFor({ store, principal: { rights } }: Asking): Promise<Pricing | undefined> {
  const readsUsage = rights.mayTry({ scope: 'admin', needs: [{ resource: 'usage', op: 'read' }] });
  return readsUsage ? readPricing(store) : undefined;
}

/** What the turns of a run cost, as get_usage adds them up. Null where a price is unknown; nothing without prices. */
export function runCost({ createdAt, turns, model, usage }: AgentRun, pricing: Pricing | undefined) {
  if (!pricing) return {};
  const all = turns ?? [{ model, usage }];
  const costs = all.map((turn) => millionths(turn, createdAt, pricing));
  return {
    cost: shown(costs.every((cost) => cost !== undefined) ? costs.reduce((sum, cost) => sum + cost, 0) : undefined),
  };
}

export function turnCost(turn: AgentTurn, { createdAt }: AgentRun, pricing: Pricing | undefined) {
  return pricing ? { cost: shown(millionths(turn, createdAt, pricing)) } : {};
}

function shown(cost: number | undefined): number | null {
  return cost === undefined ? null : unitsOf(cost);
}

function millionths({ model, usage }: Pick<AgentTurn, 'model' | 'usage'>, at: string, pricing: Pricing) {
  if (usage.inputTokens + usage.outputTokens === 0) return 0;
  const price = priceOn(pricing, model, at.slice(0, 10));
  return price && costOf(price, usage);
}
