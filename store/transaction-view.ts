import { type AuditEntry, auditEntry } from '../resources/audit-entry.ts';
import { compiled } from '../resources/compiled.ts';
import { ByCollection } from './by-collection.ts';
import type { CollectionName } from './collections.ts';
import type { Transaction } from './port.ts';
import { frozenCopy } from './row.ts';
import type { StagedRows } from './rows-port.ts';

export interface CollectedWork {
  readonly audit: AuditEntry[];
  readonly erased: string[];
  readonly erasedUsers: string[];
  batch: StagedRows | undefined;
  assertLive(): void;
}

/** The transaction as its work sees it: a writer for each collection, and what else a transaction can do. */
export class TransactionView<Writer> extends ByCollection<Writer> {
  readonly #collected: CollectedWork;
  readonly #writer: (collection: CollectionName) => Writer;

  constructor(collected: CollectedWork, writer: (collection: CollectionName) => Writer) {
    super();
    this.#collected = collected;
    this.#writer = writer;
  }

  get audit(): Transaction['audit'] {
    return { append: (entry) => void this.#live.audit.push(frozenEntry(entry)) };
  }

  get rows(): Transaction['rows'] {
    return {
      commit: (rows) => {
        if (this.#live.batch) throw new Error('a transaction commits one batch of rows');
        this.#collected.batch = rows;
      },
      erase: (uid) => void this.#live.erasedUsers.push(uid),
    };
  }

  erase(ids: readonly string[]): void {
    this.#live.erased.push(...ids);
  }

  protected make(collection: CollectionName): Writer {
    return this.#writer(collection);
  }

  get #live(): CollectedWork {
    this.#collected.assertLive();
    return this.#collected;
  }
}

export function frozenEntry(entry: AuditEntry): AuditEntry {
  return frozenCopy(compiled(auditEntry).parse(entry)) as AuditEntry; // a copy of an audit entry is an audit entry
}
