import type { Store } from '../../store/port.ts';
import { catalog } from '../../tools/catalog.ts';
import { createRegistry } from '../../tools/core/registry/registry.ts';
import { principalOf, testFacts } from '../support/registry.ts';

/** The value below which such a part of them lies: the median unless another is given. */
export function quantile(values: readonly number[], part = 0.5): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length * part)] ?? 0;
}

/** What the work gave, how long it took, and how long processors worked for it, also those of others. */
export async function timed<Result>(work: () => Promise<Result>, othersMs = () => 0) {
  const [started, used, others] = [performance.now(), process.cpuUsage(), othersMs()];
  const result = await work();
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(used);
  return { result, ms, cpuMs: (user + system) / 1000 + othersMs() - others };
}

/** Calls tools on the store, as an administrator does; each call must succeed. */
export function callerOn(store: Store, now: () => Date) {
  const server = testFacts(store, { catalog, now });
  const registry = createRegistry({ store, server, onFailure: (cause) => console.error(cause) });
  const principal = principalOf({ type: 'api-key', id: 'key_bench', scopes: ['admin'] });
  return async (tool: string, input: object) => {
    const answer = await registry.call({ principal, tool, input, door: 'mcp', requestId: 'bench' });
    if (!answer.ok) throw new Error(`${tool}: ${JSON.stringify(answer)}`);
  };
}
