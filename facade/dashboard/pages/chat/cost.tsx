import { useState } from 'preact/hooks';
import type { TokenUsage } from '../../../../resources/agent-run.ts';
import { type ListAnswer, number, useAnswer, useMay } from '../../app.ts';
import { cost, partsOf, tokensInWords, tokensTitle, useCurrency } from '../usage/numbers.ts';

export type Costs = ReadonlyMap<string, Priced>;

/** What the answers of a thread cost, by their runs, in one call. Undefined for who may not read usage. */
export function useCosts(threadId: string): Costs | undefined {
  const may = useMay('get_usage') && useMay('list_agent_runs');
  const input = { threadId, limit: 100 };
  const { data } = useAnswer<ListAnswer<Priced>>(may ? 'list_agent_runs' : undefined, input);
  return data && new Map(data.data.map((run) => [run.id, run]));
}

type Priced = Readonly<{ id: string; usage: TokenUsage; cost?: number | null }>;

type SpentProps = Readonly<{ usage: TokenUsage; run: Priced | undefined }>;

/** What all turns of an answer cost, small; pressed or pointed at, of how many tokens. Without a cost, the tokens of the answer. */
export function Spent({ usage, run }: SpentProps) {
  const [isOpen, setOpen] = useState(false);
  const currency = useCurrency(run?.cost !== undefined);
  const isNothing = usage.inputTokens + usage.outputTokens === 0;
  if (typeof run?.cost !== 'number' || currency === undefined)
    return isNothing ? null : (
      <span class="faint" title={tokensTitle(usage)}>
        {tokensInWords(usage)}
      </span>
    );
  const { input, output } = partsOf(run.usage);
  const read = `${number(run.usage.inputTokens)} tokens read${input && ` (${input})`}`;
  const written = `${number(run.usage.outputTokens)} written${output && ` (${output})`}`;
  const words = `${read}, ${written}; without the runs of other agents that it began`;
  return (
    <button type="button" class="spent" title={words} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
      {cost(run.cost, currency)}
      {isOpen && `: ${words}`}
    </button>
  );
}
