import { z } from 'zod';
import { tokenUsage } from '../../resources/agent-run.ts';
import { HOUR_MS } from '../../resources/durations.ts';
import { agentRef, instant, isNear, paging, recordId, time, timestamp } from '../../resources/fields.ts';
import { A_MODEL, orNameOf, refTo, withFormHints } from '../../resources/markers.ts';
import type { Settings } from '../../resources/settings.ts';
import { readingTools } from '../audit.ts';
import { defineTool, type Fail, READS } from '../core/registry/define-tool.ts';
import { foreignCursor, seal, unseal } from '../core/registry/paging.ts';
import { readSettings } from '../settings/settings.ts';
import { type HourOfUsage, type UsageQuestion, usageIn } from './figures.ts';
import { namesOf } from './names.ts';
import { defaultStart, INTERVALS, MOST_PERIODS, type Period, periodsIn } from './periods.ts';
import { readPricing } from './prices.ts';
import { type Label, Sum, type UsageBucket } from './usage-buckets.ts';

const GROUPINGS = ['agent', 'model', 'key', 'capsule', 'app', 'user', 'flow', 'tool', 'integration'] as const;
type Grouping = (typeof GROUPINGS)[number];

const text = z.string().min(1).max(300);
const filter = z.strictObject({
  agent: agentRef.optional(),
  model: withFormHints(text, A_MODEL).optional().describe('With this, `calls` counts model turns.'),
  key: refTo('key', recordId).optional(),
  capsule: refTo('capsule', recordId).optional(),
  app: refTo('app', recordId).optional(),
  user: refTo('admin-user', recordId).optional().describe('Id of an admin user.'),
  flow: orNameOf('flow', refTo('flow', recordId)).optional(),
  tool: refTo('tool', text).optional(),
  integration: text.optional().describe('`toolPrefix` of an integration.'),
});
type Filter = z.output<typeof filter>;

const nearTime = time.refine(isNear, 'Give a time from 1900-01-01T00:00:00Z to 2199-12-31T23:59:59Z.');

const figures = {
  calls: z.int().min(0),
  errors: z.int().min(0),
  p50Ms: z.number().min(0).nullable(),
  p95Ms: z.number().min(0).nullable(),
  ...tokenUsage.shape,
  cost: z.number().min(0).nullable().describe('In units of `currency`; null where a price is unknown.'),
};

export const getUsage = defineTool({
  name: 'get_usage',
  title: 'Get usage',
  description:
    'Read what was used, by agent, model, key, capsule, app, user, flow, tool or integration: calls, errors, latency, tokens and cost, with totals and a series over time. For what was done, see list_audit_entries and list_agent_runs.',
  keywords:
    'costs, spending, bill of AI, tokens consumed, money spent, most expensive bot, consumption, quota used, statistics of calls, latency, how much money did we spend on AI, which bot costs the most, token consumption per model, what did a conversation cost, how often was a tool called, slowest tools',
  access: { scope: 'admin', grant: 'usage:read' },
  annotations: READS,
  input: z.strictObject({
    by: z.enum(GROUPINGS),
    interval: z.enum(INTERVALS).default('day').describe('Of the series. Weeks begin on Monday.'),
    from: nearTime.optional().describe('Inclusive, from the whole hour on. Default: suits the interval.'),
    to: nearTime.optional().describe('Exclusive, up to the whole hour. Default: now.'),
    dashboardReads: z.boolean().optional().describe('False: without what people only read in the dashboard.'),
    filter: filter.optional().describe('Counts only what matches every given field.'),
    ...paging,
  }),
  output: z.object({
    by: z.enum(GROUPINGS),
    interval: z.enum(INTERVALS),
    range: z.object({ from: timestamp, to: timestamp, timezone: z.string() }),
    currency: z.string(),
    rows: z.array(
      z.object({
        key: z.string().describe('Id; of models and tools the name; of integrations the `toolPrefix`.'),
        name: z.string().optional().describe('Absent if it is gone, or is the key itself.'),
        ...figures,
      }),
    ),
    nextCursor: z.string().nullable(),
    total: z.int().min(0).optional().describe('Rows on all pages.'),
    totals: z.object(figures),
    series: z.array(z.object({ from: timestamp, to: timestamp, ...figures })),
    unpriced: z.array(z.string()).describe('Models whose tokens have no price; update_settings takes `prices`.'),
    asOf: timestamp,
    definition: z.string().describe('The rules of counting in words.'),
  }),
  errors: [],

  async handler(
    { by, interval, limit: most, cursor, includeTotal, dashboardReads = true, filter: wanted = {}, ...given },
    { store, server, fail },
  ) {
    const settings = await readSettings(store);
    const pricing = await readPricing(store);
    const now = server.now();
    const span = spanOf(given, interval, { settings, now, fail });
    const periods = periodsIn(span, interval, settings.timezone);
    if (!periods) {
      const message = `The range has more than ${MOST_PERIODS} periods; give a later \`from\` or a longer interval.`;
      throw fail('invalid_input', message, { issues: [{ path: 'interval', message }] });
    }
    const added = new Added(by, wanted, periods, dashboardReads ? [] : readingTools(server.catalog));
    const source = { audit: server.audit, agentRuns: store.agentRuns, usageHours: store.usageHours };
    for await (const hour of usageIn(source, span, { ...added.question, periods })) added.add(hour);
    const filters = { by, interval, wanted, ...given, ...(!dashboardReads && { dashboardReads }) };
    const page = pageOf(added.rows, most, cursor, filters);
    const names = await namesOf(store, by, page.keys);
    return {
      ...{ by, interval, range: { ...rangeOf(span), timezone: settings.timezone }, currency: settings.currency },
      rows: page.keys.map((key) => ({ key, ...names.get(key), ...(added.rows.get(key) ?? new Sum()).shown(pricing) })),
      nextCursor: page.next,
      ...(includeTotal && { total: added.rows.size }),
      totals: added.totals.shown(pricing),
      series: periods.map((period, at) => ({ ...rangeOf(period), ...(added.series[at] ?? new Sum()).shown(pricing) })),
      unpriced: added.totals.unpriced(pricing),
      asOf: now.toISOString(),
      definition: DEFINITION,
    };
  },
});

type Range = { readonly from?: string | undefined; readonly to?: string | undefined };

/** Whole hours, because figures are kept by the hour. */
function spanOf(
  { from, to }: Range,
  interval: (typeof INTERVALS)[number],
  { settings, now, fail }: { readonly settings: Settings; readonly now: Date; readonly fail: Fail<never> },
) {
  const end = Math.ceil((to === undefined ? now.getTime() + 1 : Date.parse(instant(to))) / HOUR_MS) * HOUR_MS;
  const start = from === undefined ? defaultStart(end, interval, settings.timezone) : Date.parse(instant(from));
  const span = { from: Math.floor(start / HOUR_MS) * HOUR_MS, to: end };
  if (span.from < span.to) return span;
  const message = '`from` must be before `to`; give an earlier `from`.';
  throw fail('invalid_input', message, { issues: [{ path: 'from', message }] });
}

function rangeOf({ from, to }: { readonly from: number; readonly to: number }) {
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

class Added {
  readonly totals = new Sum();
  readonly rows = new Map<string, Sum>();
  readonly series: readonly Sum[];
  readonly #by: Grouping;
  readonly #filter: [Grouping, string | undefined][];
  readonly #periods: readonly Period[];
  readonly #ofModels: boolean;
  /** Tools whose calls in the dashboard do not count. */
  readonly #ownReads: ReadonlySet<string> | undefined;

  constructor(by: Grouping, wanted: Filter, periods: readonly Period[], ownReads: readonly string[]) {
    this.#ownReads = ownReads.length > 0 ? new Set(ownReads) : undefined;
    this.#by = by;
    this.#filter = GROUPINGS.flatMap((label) => (wanted[label] === undefined ? [] : [[label, wanted[label]]]));
    this.#periods = periods;
    this.#ofModels = by === 'model' || wanted.model !== undefined;
    this.series = periods.map(() => new Sum());
  }

  /** An integration is known by its tools. Prices are those of models. */
  get question(): UsageQuestion {
    const { integration: _, ...where } = Object.fromEntries(this.#filter);
    const periodLabels = this.#filter.map(([label]) => keptAs(label));
    const labels = new Set([keptAs(this.#by), ...periodLabels, 'model' as const]);
    return { labels: [...labels], periodLabels, where, ownReads: this.#ownReads, onlyRuns: this.#ofModels };
  }

  add({ source, hour, cells, of }: HourOfUsage): void {
    const period = this.series[this.#periods.findLastIndex(({ from }) => from <= hour)];
    const whole = of === 'rows' ? [] : [this.totals, period];
    const date = new Date(hour).toISOString().slice(0, 10);
    for (const cell of cells.all) {
      if (!this.#filter.every(([label, wanted]) => labelOf(cell, label) === wanted)) continue;
      for (const sum of of === 'periods' ? whole : [...whole, this.#row(labelOf(cell, this.#by))]) {
        if ((source === 'calls') !== this.#ofModels) sum?.addCalls(cell);
        sum?.addTokens(cell, date);
      }
    }
  }

  #row(key: string | undefined): Sum | undefined {
    if (key === undefined) return undefined;
    const sum = this.rows.get(key) ?? new Sum();
    this.rows.set(key, sum);
    return sum;
  }
}

const PREFIX = /^(.+?)__/;

/** Figures are kept by tools, not by integrations. */
function keptAs(label: Grouping): Label {
  return label === 'integration' ? 'tool' : label;
}

/** A tool of an integration has the prefix of it in its name. */
function labelOf({ labels }: UsageBucket, label: Grouping): string | undefined {
  return label === 'integration' ? PREFIX.exec(labels.tool ?? '')?.[1] : labels[label];
}

function pageOf(rows: ReadonlyMap<string, Sum>, most: number, cursor: string | undefined, filters: object) {
  const places = [...rows].map(([key, { calls, tokens }]) => ({
    key,
    calls,
    tokens: tokens.inputTokens + tokens.outputTokens,
  }));
  const order = places.sort((a, b) => b.calls - a.calls || b.tokens - a.tokens || (a.key < b.key ? -1 : 1));
  const first = cursor === undefined ? 0 : placeAfter(cursor, filters);
  const keys = order.slice(first, first + most).map(({ key }) => key);
  const end = first + keys.length;
  return { keys, next: end < order.length ? seal([end], filters) : null };
}

function placeAfter(cursor: string, filters: object): number {
  const [place] = unseal(cursor, filters);
  if (typeof place !== 'number' || !Number.isSafeInteger(place) || place < 0) throw foreignCursor();
  return place;
}

const DEFINITION = [
  'Calls are entries of the audit log, refused and failed ones and calls inside calls included; errors are those whose outcome is not ok.',
  'Latency is how long calls took: the value that half of them, and 95 % of them, do not exceed (nearest rank; where there are more than 20,000 calls, or the calls themselves are deleted, from a histogram, within 2 %).',
  'Tokens are those of the runs of agents, in the hour in which the run began, and count for the tool that began the run.',
  'By model, and with a filter by model, calls are turns of the model, errors are runs that failed, and latency is how long turns took.',
  'Keys, capsules, apps, users (people who signed in), flows and agents count with all that is done for them; of several agents or flows in one call the nearest counts. Rows hold what has such a label, totals hold everything.',
  'Cost is tokens by the price of the model on the day (UTC), with prices of their own for cached input, input that was put into the cache, and reasoning where these are given, at the exchange rate of the month; it is null where any price or rate is unknown.',
  'Days, weeks and months are those of the workspace time zone, made of whole hours.',
].join(' ');
