import type { MetricAnswer } from '../pages/analytics/metrics.ts';
import { inputOf } from '../pages/analytics/range.tsx';
import { keepAnswer } from '../store.ts';
import type { ListedTool } from '../tools.ts';
import { beginAt } from './host/router.ts';

type Members = Readonly<Record<string, unknown>>;

/** The input for the chosen range, with what else the first call was given. Members that the tool does not take are left out. */
export function askedFor(tool: ListedTool, first: Members, query: URLSearchParams): Members {
  const { from: _, to: __, interval: ___, ...others } = first;
  const asked = Object.entries({ ...others, ...inputOf(query, tool) });
  return Object.fromEntries(asked.filter(([name]) => name in (tool.inputSchema.properties ?? {})));
}

/** Begins with the range of the first call, whose answer is there. */
export function beginWith(tool: ListedTool, input: Members, answer: MetricAnswer): void {
  const { from, to, interval } = input as Readonly<Partial<Record<string, string>>>; // dates and a word
  const given = { metric: tool.name, span: (from ?? to) && 'own', from, to, interval };
  const query = beginAt('/analytics', given);
  keepAnswer(tool.name, askedFor(tool, input, query), answer);
}
