import { StoreUnavailable } from '../../store/errors.ts';
import type { RecordChange, Store, Transaction } from '../../store/port.ts';

type IsLost = (change: RecordChange) => boolean;

/** Lets the first transaction with such a change fail after its end, as where the answer to its COMMIT does not arrive. */
export function loseAnswer(store: Store, isLost: IsLost): void {
  const transaction = store.transaction.bind(store);
  let lost: Transaction | undefined;
  const forget = store.beforeCommit(async (tx, changes) => {
    if (changes.some(isLost)) lost ??= tx;
  });
  store.transaction = async (work, origin) => {
    let own: Transaction | undefined;
    const result = await transaction((tx) => {
      own = tx;
      return work(tx);
    }, origin);
    if (own !== lost) return result;
    forget();
    store.transaction = transaction;
    throw new StoreUnavailable('the connection was lost');
  };
}

/** Lets the first transaction with such a change fail before its end. */
export function loseTransaction(store: Store, isLost: IsLost): void {
  const forget = store.beforeCommit(async (_, changes) => {
    if (!changes.some(isLost)) return;
    forget();
    throw new StoreUnavailable('the connection was lost');
  });
}
