import type { Store, Writers } from '../../store/port.ts';

/** The collections of the store, where each call is a transaction of its own. */
export function writing(store: Pick<Store, 'transaction'>): Writers {
  const collection = (name: string) =>
    new Proxy(
      {},
      {
        get:
          (_, method) =>
          (...given: unknown[]) =>
            store.transaction((tx) => call(tx, name, method, given)),
      },
    );
  return new Proxy({}, { get: (_, name) => collection(String(name)) }) as Writers; // it has what a transaction has
}

function call(tx: object, name: string, method: string | symbol, given: readonly unknown[]): Promise<unknown> {
  const records = Reflect.get(tx, name);
  return Reflect.get(records, method).apply(records, given);
}
