import { after, describe } from 'node:test';
import { auditConformance } from './conformance-audit.ts';
import { indexesConformance } from './conformance-indexes.ts';
import { queriesConformance } from './conformance-queries.ts';
import { recordsConformance } from './conformance-records.ts';
import { restoreConformance } from './conformance-restore.ts';
import { rowsConformance } from './conformance-rows.ts';
import { searchConformance } from './conformance-search.ts';
import { type OpenedStore, Stage } from './conformance-stage.ts';
import { transactionsConformance } from './conformance-transactions.ts';
import { writesConformance } from './conformance-writes.ts';

/** What every store does, through the port alone. `openStore` gives an empty one. `skip`: why the suite cannot run here. */
export function runConformance(
  name: string,
  openStore: () => Promise<OpenedStore>,
  { skip }: { readonly skip?: string | undefined } = {},
): void {
  describe(`${name} keeps the contract of the store port`, { skip }, () => {
    const stage = new Stage(openStore);
    after(() => stage.dispose());
    recordsConformance(stage);
    transactionsConformance(stage);
    queriesConformance(stage);
    indexesConformance(stage);
    searchConformance(stage);
    auditConformance(stage);
    rowsConformance(stage);
    restoreConformance(stage);
    writesConformance(stage);
  });
}
