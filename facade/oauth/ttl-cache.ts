import type { Cluster } from '../../store/cluster-port.ts';

/** Values that matter for a while and are in no backup. */
export interface TtlCache<Value extends object> {
  put(key: string, value: Value): Promise<void>;
  get(key: string): Promise<Value | undefined>;
  /** Gets the value and removes it: of several who take it at once, one gets it. */
  take(key: string): Promise<Value | undefined>;
}

interface TtlCacheOptions {
  /** Where all processes have them. Undefined: this process has them for itself. */
  readonly cluster: Cluster | undefined;
  readonly periodMs: number;
  now(): Date;
}

/** `name` tells these values from others. */
export function createTtlCache<Value extends object>(name: string, keeping: TtlCacheOptions): TtlCache<Value> {
  const { cluster, periodMs, now } = keeping;
  return cluster ? shared(name, cluster, periodMs) : own(periodMs, now);
}

function shared<Value extends object>(name: string, cluster: Cluster, periodMs: number): TtlCache<Value> {
  const named = (key: string) => `${name} ${key}`;
  // Keys of this form hold values of this type only.
  const known = (value: object | undefined) => value as Value | undefined;
  return {
    put: (key, value) => cluster.put(named(key), value, periodMs),
    get: async (key) => known(await cluster.get(named(key))),
    take: async (key) => known(await cluster.take(named(key))),
  };
}

/** Of more values than these, all are forgotten. */
const MOST_KEPT = 10_000;

function own<Value extends object>(periodMs: number, now: () => Date): TtlCache<Value> {
  const kept = new Map<string, { readonly value: Value; readonly until: number }>();
  const get = (key: string) => {
    const found = kept.get(key);
    return found && found.until > now().getTime() ? found.value : undefined;
  };
  return {
    async put(key, value) {
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(key, { value, until: now().getTime() + periodMs });
    },
    get: async (key) => get(key),
    async take(key) {
      const value = get(key);
      kept.delete(key);
      return value;
    },
  };
}
