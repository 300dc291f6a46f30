import { z } from 'zod';
import { derivedTables } from '../../store/sql/derived-tables.ts';
import { defineTool, UPDATES } from '../core/registry/define-tool.ts';

const tableName = z.enum(derivedTables.map(({ name }) => name) as [string, ...string[]]); // there are some

export const rebuildMetrics = defineTool({
  name: 'rebuild_metrics',
  title: 'Rebuild metrics',
  description:
    'Rebuild the metric tables from the imported rows and report whether they were correct. Imports keep them correct; use it only to verify. Takes seconds for a million rows; imports wait meanwhile.',
  keywords:
    'recalculate numbers, figures look stale or wrong, refresh analytics, recompute, numbers look wrong, calculate again',
  access: { scope: 'admin', grant: 'user:import' },
  annotations: UPDATES,
  inSteps: true,
  input: z.strictObject({
    tables: z.array(tableName).min(1).optional().describe('Default: all.'),
  }),
  output: z.object({
    rebuilt: z.array(z.object({ table: z.string(), rows: z.int().min(0) })),
    equal: z.boolean().describe('All rows are as they were before.'),
  }),
  errors: [],

  async handler({ tables }, { server }) {
    const rebuilt = await server.rows.rebuild(tables);
    return {
      rebuilt: rebuilt.map(({ table, rows }) => ({ table, rows })),
      equal: rebuilt.every(({ equal }) => equal),
    };
  },
});
