import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { AgentRun, TokenUsage } from '../../resources/agent-run.ts';
import {
  type AuditEntry,
  CALLER_TYPES,
  type Callers,
  type CallerType,
  callersOf,
} from '../../resources/audit-entry.ts';
import type { Tally, TallyKey } from '../../store/port.ts';
import { actorsOf, type Principal } from '../core/access/principal.ts';
import { NO_TOKENS, sumOfTokens, TOKEN_DETAILS, withDetails } from '../core/models/token-usage.ts';
import { Histogram } from './histogram.ts';
import { costOf, type Pricing, priceOn, unitsOf } from './prices.ts';

export const LABELS = ['agent', 'model', 'key', 'capsule', 'app', 'user', 'flow', 'tool'] as const;
export type Label = (typeof LABELS)[number];
type Labels = Readonly<Partial<Record<Label, string>>>;

export interface UsageBucket {
  readonly labels: Labels;
  calls: number;
  /** Calls that were refused or failed, or runs that failed. */
  errors: number;
  tokens: TokenUsage;
  readonly spread: Histogram;
}

/** By the type of a principal. A session has the id of its person. */
const WHO: Readonly<Record<CallerType, Label>> = {
  agent: 'agent',
  'api-key': 'key',
  capsule: 'capsule',
  app: 'app',
  session: 'user',
  flow: 'flow',
};

export const TALLY_KEYS: Readonly<Partial<Record<Label, TallyKey>>> = {
  ...Object.fromEntries(Object.entries(WHO).map(([type, label]) => [label, type])),
  tool: 'tool',
};

/** The source of the figures of embedding models. */
export const EMBEDDINGS = 'embeddings' as const;
const BEGINS = { chat: 'send_chat_message', invoke: 'invoke_agent' } as const;

/** One request to an embedding model. */
export interface EmbeddingUse {
  readonly model: string;
  readonly tokens: number;
  readonly ms: number;
  readonly failed: boolean;
  /** Whose question it was. Absent where texts of records were embedded in the background. */
  readonly principal?: Principal | undefined;
}

export class UsageBuckets {
  readonly #cells = new Map<string, UsageBucket>();

  get all(): Iterable<UsageBucket> {
    return this.#cells.values();
  }

  addCall({ principal, onBehalfOf = [], tool, outcome, durationMs }: AuditEntry): void {
    const cell = this.#at({ ...labelsOf(callersOf([principal, ...onBehalfOf])), tool });
    cell.calls += 1;
    if (outcome !== 'ok') cell.errors += 1;
    cell.spread.add(durationMs);
  }

  /** With these labels alone. */
  addTally(tally: Tally, inBuckets: boolean, kept: readonly Label[] = LABELS): void {
    const { calls, failed, durations } = tally;
    const labels = labelsOfTally(tally);
    const cell = this.#at(kept === LABELS ? labels : pick(labels, kept));
    cell.calls += calls;
    cell.errors += failed;
    if (inBuckets) cell.spread.addBuckets(durations);
    else
      for (let at = 0; at + 1 < durations.length; at += 2)
        for (let n = durations[at + 1] ?? 0; n > 0; n -= 1) cell.spread.add(durations[at] ?? 0);
  }

  addRun(run: AgentRun): void {
    const { agent: _, ...who } = labelsOf(callersOf([run.principal, ...(run.onBehalfOf ?? [])]));
    const labels = { ...who, ...(run.agentId !== undefined && { agent: run.agentId }), tool: BEGINS[run.kind] };
    if (run.status === 'failed') this.#at({ ...labels, model: run.model }).errors += 1;
    if (!run.turns) addTokens(this.#at({ ...labels, model: run.model }), run.usage, run.steps);
    for (const { model, usage, ms } of run.turns ?? []) {
      const cell = this.#at({ ...labels, model });
      addTokens(cell, usage, 1);
      cell.spread.add(ms);
    }
  }

  addEmbedding({ model, tokens, ms, failed, principal }: EmbeddingUse): void {
    const who = principal ? labelsOf(callersOf(actorsOf(principal))) : {};
    const cell = this.#at({ ...who, model });
    addTokens(cell, { inputTokens: tokens, outputTokens: 0 }, 1);
    cell.spread.add(ms);
    if (failed) cell.errors += 1;
  }

  /** As one text, with times in buckets. */
  pack(): string {
    const texts = new Map<string, number>([['', 0]]);
    const numberOf = (text: string) => texts.get(text) ?? texts.set(text, texts.size).size - 1;
    const all = [...this.all];
    const cells = all.map(({ labels, calls, errors, tokens, spread }) => [
      ...LABELS.map((label) => numberOf(labels[label] ?? '')),
      ...[calls, errors, tokens.inputTokens, tokens.outputTokens],
      ...spread.buckets,
    ]);
    const details = all.flatMap(({ tokens }, at) => {
      const numbers = TOKEN_DETAILS.map((detail) => tokens[detail] ?? 0);
      return numbers.some((number) => number > 0) ? [[at, ...numbers]] : [];
    });
    const packed: Packed = { format: 1, texts: [...texts.keys()], cells, ...(details.length > 0 && { details }) };
    return deflateRawSync(JSON.stringify(packed)).toString('base64');
  }

  /** The cells without those that `isOwnRead`. */
  without(tools: ReadonlySet<string>): UsageBuckets {
    const left = new UsageBuckets();
    for (const [key, cell] of this.#cells) if (!isOwnRead(cell.labels, tools)) left.#cells.set(key, cell);
    return left;
  }

  /** Puts cells together that are alike in these labels, and leaves out those without the wanted ones, and own reads. */
  static unpack(text: string, { labels = LABELS, where = {}, ownReads }: UsageGrouping = {}): UsageBuckets {
    const packed = JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as Packed; // `pack` made it
    const { texts, cells } = packed;
    const details = new Map(packed.details?.map(([at = 0, ...numbers]) => [at, numbers]));
    const places = labels.map((label) => LABELS.indexOf(label));
    const wanted = LABELS.flatMap((label, place) =>
      where[label] === undefined ? [] : [{ place, number: texts.indexOf(where[label]) }],
    );
    const isRead = ownReads && ownReadIn(texts, ownReads);
    const unpacked = new UsageBuckets();
    const known = new Map<string, UsageBucket>();
    for (const [at, numbers] of cells.entries()) {
      if (!wanted.every(({ place, number }) => numbers[place] === number)) continue;
      if (isRead?.(numbers)) continue;
      let alike = '';
      for (const place of places) alike += `${numbers[place]},`;
      const cell = known.get(alike) ?? unpacked.#at(labelsAt(places, numbers, texts));
      known.set(alike, cell);
      cell.calls += numbers[FIRST_SUM] ?? 0;
      cell.errors += numbers[FIRST_SUM + 1] ?? 0;
      cell.tokens = sumOfTokens(cell.tokens, tokensIn(numbers, details.get(at)));
      cell.spread.addBuckets(numbers, FIRST_BUCKET);
    }
    return unpacked;
  }

  #at(labels: Labels): UsageBucket {
    const key = LABELS.map((label) => labels[label] ?? '').join('\n');
    const known = this.#cells.get(key);
    if (known) return known;
    const cell: UsageBucket = { labels, calls: 0, errors: 0, tokens: NO_TOKENS, spread: new Histogram() };
    this.#cells.set(key, cell);
    return cell;
  }
}

export interface UsageGrouping {
  readonly labels?: readonly Label[];
  readonly where?: Labels;
  /** Leaves out calls of these tools that `isOwnRead`. */
  readonly ownReads?: ReadonlySet<string> | undefined;
}

const ACTING = ['agent', 'key', 'capsule', 'app', 'flow'] as const satisfies readonly Label[];

/** A person signed in calls tools themselves in the dashboard alone; what acts for them is named beside them. */
export function isOwnRead(labels: Labels, tools: ReadonlySet<string>): boolean {
  if (labels.user === undefined || ACTING.some((label) => labels[label] !== undefined)) return false;
  return labels.tool !== undefined && tools.has(labels.tool);
}

/** The same for packed cells. An absent label is the empty text. */
function ownReadIn(texts: readonly string[], tools: ReadonlySet<string>): (numbers: readonly number[]) => boolean {
  const none = texts.indexOf('');
  const reads = new Set(texts.flatMap((text, number) => (tools.has(text) ? [number] : [])));
  const [user, tool] = [LABELS.indexOf('user'), LABELS.indexOf('tool')];
  const acting = ACTING.map((label) => LABELS.indexOf(label));
  return (numbers) =>
    reads.has(numbers[tool] ?? none) && numbers[user] !== none && acting.every((place) => numbers[place] === none);
}

export function labelsOfTally({ callers, tool }: Pick<Tally, 'callers' | 'tool'>): Labels {
  return { ...labelsOf(callers), ...(tool !== undefined && { tool }) };
}

function pick(labels: Labels, kept: readonly Label[]): Labels {
  return Object.fromEntries(kept.flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]])));
}

/** In a packed cell its labels come first, then its sums, then its buckets. */
const FIRST_SUM = LABELS.length;
const FIRST_BUCKET = FIRST_SUM + 4;

interface Packed {
  readonly format: 1;
  readonly texts: readonly string[];
  /** For each cell: places of its labels in the texts, its four sums, and its buckets. */
  readonly cells: readonly (readonly number[])[];
  /** Of cells that have them: the place of the cell, and its TOKEN_DETAILS. Older versions leave them out. */
  readonly details?: readonly (readonly number[])[];
}

function tokensIn(numbers: readonly number[], details: readonly number[] = []): TokenUsage {
  const [inputTokens = 0, outputTokens = 0] = [numbers[FIRST_SUM + 2], numbers[FIRST_SUM + 3]];
  return withDetails({ inputTokens, outputTokens }, (_, at) => details[at] ?? 0);
}

function labelsAt(places: readonly number[], numbers: readonly number[], texts: readonly string[]): Labels {
  const given = places.flatMap((place) => (numbers[place] ? [[LABELS[place], texts[numbers[place]]]] : []));
  return Object.fromEntries(given);
}

function labelsOf(callers: Callers): Labels {
  return Object.fromEntries(
    CALLER_TYPES.flatMap((type) => (callers[type] === undefined ? [] : [[WHO[type], callers[type]]])),
  );
}

function addTokens(cell: UsageBucket, tokens: TokenUsage, turns: number): void {
  cell.calls += turns;
  cell.tokens = sumOfTokens(cell.tokens, tokens);
}

export class Sum {
  calls = 0;
  errors = 0;
  tokens = NO_TOKENS;
  readonly #spread = new Histogram();
  /** By model and date, which decide the price. */
  readonly #priced = new Map<string, { readonly model: string; readonly date: string; tokens: TokenUsage }>();

  addCalls({ calls, errors, spread }: UsageBucket): void {
    this.calls += calls;
    this.errors += errors;
    this.#spread.merge(spread);
  }

  addTokens({ tokens, labels: { model } }: UsageBucket, date: string): void {
    if (model === undefined || tokens.inputTokens + tokens.outputTokens === 0) return;
    this.tokens = sumOfTokens(this.tokens, tokens);
    const key = `${date} ${model}`;
    const priced = this.#priced.get(key) ?? { model, date, tokens: NO_TOKENS };
    this.#priced.set(key, priced);
    priced.tokens = sumOfTokens(priced.tokens, tokens);
  }

  unpriced(pricing: Pricing): string[] {
    const without = [...this.#priced.values()].filter(({ model, date }) => !priceOn(pricing, model, date));
    return [...new Set(without.map(({ model }) => model))].sort();
  }

  shown(pricing: Pricing) {
    const [p50Ms = null, p95Ms = null] = this.#spread.percentiles([0.5, 0.95]);
    const { calls, errors, tokens } = this;
    return { calls, errors, p50Ms, p95Ms, ...tokens, cost: this.#cost(pricing) };
  }

  /** In a fixed order, so that equal figures have equal sums. Null if any price is unknown. */
  #cost(pricing: Pricing): number | null {
    let millionths = 0;
    for (const [, { model, date, tokens }] of [...this.#priced].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const price = priceOn(pricing, model, date);
      if (!price) return null;
      millionths += costOf(price, tokens);
    }
    return unitsOf(millionths);
  }
}
