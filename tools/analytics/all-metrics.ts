import { SETTINGS_ID } from '../../resources/settings.ts';
import type { Store } from '../../store/port.ts';
import { rawTables } from '../../store/sql/raw-tables.ts';
import { ToolError } from '../core/errors.ts';
import { createModels } from '../core/models/models.ts';
import { addDays, addIntervals, dateIn } from './calendar.ts';
import { analyticsTools } from './tools.ts';

/** The answer of a metric, without when it was worked out and what it means. */
export interface MetricAnswer {
  readonly metric: string;
  readonly answer: object;
}

const MOST_MONTHS = 720;

/** Answers every metric about all rows, as at the given time, without audit entries: what a store is compared by. */
export async function* allMetrics(store: Store, now: Date): AsyncGenerator<MetricAnswer> {
  const settings = await store.settings.get(SETTINGS_ID);
  if (!settings) return; // no server was ever started on it
  const { timezone } = settings;
  const to = addDays(dateIn(timezone, now.getTime()), 1);
  const first = dateIn(timezone, (await earliest(store)) ?? now.getTime());
  const [, from = first] = [first, addIntervals(to, 'month', -MOST_MONTHS)].sort();
  const range = { from, to };
  const server = { rows: store.rows, models: createModels(), now: () => now };
  const fail = (...parts: ConstructorParameters<typeof ToolError>) => new ToolError(...parts);
  for (const tool of analyticsTools) {
    const input = 'interval' in tool.input.shape ? { ...range, interval: 'month' } : range;
    const answer = await tool.handler(input, { store, server, fail, signal: undefined });
    const { asOf: _, definition: __, ...compared } = answer as Record<string, unknown>;
    yield { metric: tool.name, answer: compared };
  }
}

async function earliest({ rows }: Store): Promise<number | undefined> {
  const times = Object.entries(rawTables).flatMap(([table, columns]) =>
    Object.keys(columns)
      .filter((column) => column.endsWith('_ms') && column !== 'imported_ms')
      .map((column) => `select min(${column}) as first_ms from ${table}`),
  );
  const sql = `select min(first_ms) as first_ms from (${times.join(' union all ')}) as times`;
  const [found] = await rows.query<{ first_ms: number | null }>({ name: 'earliest time', sql });
  return found?.first_ms ?? undefined;
}
