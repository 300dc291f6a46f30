import type { DerivedTable } from './derived-table.ts';

/** In this order; a table may read those before it. */
export const derivedTables: readonly DerivedTable[] = [];
