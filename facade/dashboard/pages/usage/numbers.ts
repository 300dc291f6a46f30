import type { TokenUsage } from '../../../../resources/agent-run.ts';
import { money, number, useAnswer, useMay } from '../../app.ts';

/** The figures of a row, a period, or all. */
export type Numbers = Readonly<
  Record<'calls' | 'errors', number> & TokenUsage & Record<'p50Ms' | 'p95Ms' | 'cost', number | null>
>;

export type UsageRow = Numbers & Readonly<{ key: string; name?: string }>;

export interface UsageAnswer {
  readonly by: string;
  readonly interval: 'hour' | 'day' | 'week' | 'month';
  readonly range: { readonly timezone: string };
  readonly currency: string;
  readonly rows: readonly UsageRow[];
  readonly nextCursor: string | null;
  readonly totals: Numbers;
  readonly series: readonly (Numbers & { readonly from: string })[];
  readonly unpriced: readonly string[];
  readonly asOf: string;
  readonly definition: string;
}

export function time(ms: number | null): string {
  if (ms === null) return '–';
  if (ms < 1000) return `${number(ms, ms < 10 ? 1 : 0)} ms`;
  return ms < 120_000 ? `${number(ms / 1000, 1)} s` : `${number(ms / 60_000, 1)} min`;
}

/** Of a cost for which some price is missing. */
export const NO_PRICE = 'No price set';

/** Small amounts with as many digits as show something. An unknown one is no 0. */
export function cost(value: number | null, currency: string): string {
  if (value === null) return NO_PRICE;
  if (value === 0) return money(0, currency);
  let digits = value >= 1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(value)) + 1);
  while (digits > 2 && value.toFixed(digits).endsWith('0')) digits -= 1;
  return money(value, currency, digits);
}

const DAY: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric' };
const PARTS: Readonly<Record<UsageAnswer['interval'], Intl.DateTimeFormatOptions>> = {
  hour: { ...DAY, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' },
  day: DAY,
  week: DAY,
  month: { month: 'short', year: '2-digit' },
};

export function periodOf(from: string, { interval, range }: Pick<UsageAnswer, 'interval' | 'range'>): string {
  return new Date(from).toLocaleString('en-US', { ...PARTS[interval], timeZone: range.timezone });
}

/** Of tokens, what was cached or reasoning, in words: `8,120 cached, 640 written to the cache`. Empty where nothing was. */
export function partsOf({ cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 }: Partial<TokenUsage>) {
  const words = (tokens: number, what: string) => (tokens > 0 ? [`${number(tokens)} ${what}`] : []);
  return {
    input: [...words(cachedInputTokens, 'cached'), ...words(cacheWriteTokens, 'written to the cache')].join(', '),
    output: words(reasoningTokens, 'reasoning').join(),
  };
}

/** `185 in, 58 out` */
export function tokensInWords({ inputTokens, outputTokens }: Pick<TokenUsage, 'inputTokens' | 'outputTokens'>): string {
  return `${number(inputTokens)} in, ${number(outputTokens)} out`;
}

/** What a number of tokens read and written means, with its parts. */
export function tokensTitle(usage: TokenUsage): string {
  const { input, output } = partsOf(usage);
  return `Tokens read${input && ` (${input})`} and written${output && ` (${output})`}`;
}

/** The currency of the workspace, asked for where something is shown in it. */
export function useCurrency(isShown: boolean): string | undefined {
  const may = useMay('get_settings') && isShown;
  return useAnswer<{ readonly currency: string }>(may ? 'get_settings' : undefined).data?.currency;
}
