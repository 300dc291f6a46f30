import type { Cluster } from './cluster-port.ts';

/** Does the work while no other process does the same. Undefined where another one does. */
export async function whileHolding<Result>(
  { cluster }: { readonly cluster?: Pick<Cluster, 'hold'> | undefined },
  key: string,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result } | undefined> {
  const release = cluster ? await cluster.hold(key) : async () => {};
  if (!release) return undefined;
  try {
    return { result: await work() };
  } finally {
    await release();
  }
}
