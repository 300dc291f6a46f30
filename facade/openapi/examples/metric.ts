import { analyticsTools } from '../../../tools/analytics/tools.ts';
import type { Example, Examples } from './example.ts';

const range = { from: '2026-01-01', to: '2026-03-01' };

/** Examples of metrics that are all asked the same, from what each says of January and February. */
export function metricExamples(bodies: Readonly<Record<string, object>>): Examples {
  const tools = new Map(analyticsTools.map((tool) => [tool.name, tool]));
  const entries = Object.entries(bodies).map(([name, body]): [string, Example] => {
    const tool = tools.get(name);
    const input = tool && 'interval' in tool.input.shape ? { ...range, interval: 'month' } : range;
    const answer = {
      asOf: '2026-03-01T09:00:00.000Z',
      range: { ...input, timezone: 'UTC' },
      definition: tool?.definition,
      ...body,
    };
    return [name, { input, answer }];
  });
  return Object.fromEntries(entries);
}

/** A series of the two months, both over. */
export function months(january: object, february: object): object[] {
  return [
    { from: '2026-01-01', to: '2026-02-01', complete: true, ...january },
    { from: '2026-02-01', to: '2026-03-01', complete: true, ...february },
  ];
}
