import { analyticsTools } from '../../tools/analytics/tools.ts';
import type { Example, Examples } from './example.ts';

const input = { from: '2026-01-01', to: '2026-03-01', interval: 'month' };

/** Examples of metrics that are all asked the same, from what each says of January and February. */
export function metricExamples(bodies: Readonly<Record<string, object>>): Examples {
  const definitions = new Map(analyticsTools.map(({ name, definition }) => [name, definition]));
  const entries = Object.entries(bodies).map(([name, body]): [string, Example] => [
    name,
    {
      input,
      answer: {
        asOf: '2026-03-01T09:00:00.000Z',
        range: { ...input, timezone: 'UTC' },
        definition: definitions.get(name),
        ...body,
      },
    },
  ]);
  return Object.fromEntries(entries);
}

/** A series of the two months, both over. */
export function months(january: object, february: object): object[] {
  return [
    { from: '2026-01-01', to: '2026-02-01', complete: true, ...january },
    { from: '2026-02-01', to: '2026-03-01', complete: true, ...february },
  ];
}
