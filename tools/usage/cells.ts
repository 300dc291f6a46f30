import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { AgentRun, TokenUsage } from '../../resources/agent-run.ts';
import type { AuditEntry } from '../../resources/audit-entry.ts';
import { type Bucket, Spread } from './spread.ts';

/** What figures are kept by. The order is that of packed cells. */
export const LABELS = ['agent', 'model', 'key', 'capsule', 'app', 'user', 'flow', 'tool'] as const;
export type Label = (typeof LABELS)[number];
export type Labels = Readonly<Partial<Record<Label, string>>>;

/** The figures of what is alike in all labels. */
export interface Cell {
  readonly labels: Labels;
  /** Calls of tools, or turns of models. */
  calls: number;
  /** Calls that were refused or failed, or runs that failed. */
  errors: number;
  inputTokens: number;
  outputTokens: number;
  readonly spread: Spread;
}

/** By the type of a principal. A session has the id of its person. */
const WHO: Readonly<Partial<Record<string, Label>>> = {
  agent: 'agent',
  'api-key': 'key',
  capsule: 'capsule',
  app: 'app',
  session: 'user',
  flow: 'flow',
};

/** The tool that a run was begun with. */
const BEGINS = { chat: 'send_chat_message', invoke: 'invoke_agent' } as const;

/** Figures of some time by all labels together. */
export class Cells {
  readonly #cells = new Map<string, Cell>();

  get all(): Iterable<Cell> {
    return this.#cells.values();
  }

  addCall({ principal, onBehalfOf = [], tool, outcome, durationMs }: AuditEntry): void {
    const cell = this.#at({ ...whoIn([principal, ...onBehalfOf]), tool });
    cell.calls += 1;
    if (outcome !== 'ok') cell.errors += 1;
    cell.spread.add(durationMs);
  }

  addRun(run: AgentRun): void {
    const { agent: _, ...who } = whoIn([run.principal, ...(run.onBehalfOf ?? [])]);
    const labels = { ...who, ...(run.agentId !== undefined && { agent: run.agentId }), tool: BEGINS[run.kind] };
    if (run.status === 'failed') this.#at({ ...labels, model: run.model }).errors += 1;
    if (!run.turns) addTokens(this.#at({ ...labels, model: run.model }), run.usage, run.steps);
    for (const { model, usage, ms } of run.turns ?? []) {
      const cell = this.#at({ ...labels, model });
      addTokens(cell, usage, 1);
      cell.spread.add(ms);
    }
  }

  merge(others: Cells): void {
    for (const other of others.all) {
      const cell = this.#at(other.labels);
      cell.calls += other.calls;
      cell.errors += other.errors;
      addTokens(cell, other, 0);
      cell.spread.merge(other.spread);
    }
  }

  /** As one text, with times in buckets. */
  pack(): string {
    const texts = new Map<string, number>([['', 0]]);
    const numberOf = (text: string) => texts.get(text) ?? texts.set(text, texts.size).size - 1;
    const cells = [...this.all].map(({ labels, calls, errors, inputTokens, outputTokens, spread }) => [
      ...LABELS.map((label) => numberOf(labels[label] ?? '')),
      ...[calls, errors, inputTokens, outputTokens],
      ...spread.buckets.flat(),
    ]);
    const packed: Packed = { format: 1, texts: [...texts.keys()], cells };
    return deflateRawSync(JSON.stringify(packed)).toString('base64');
  }

  static unpack(text: string): Cells {
    const { texts, cells } = JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as Packed; // `pack` made it
    const unpacked = new Cells();
    for (const numbers of cells) {
      const given = LABELS.flatMap((label, at) => (numbers[at] ? [[label, texts[numbers[at]]]] : []));
      const cell = unpacked.#at(Object.fromEntries(given));
      const [calls = 0, errors = 0, inputTokens = 0, outputTokens = 0, ...rest] = numbers.slice(LABELS.length);
      Object.assign(cell, { calls, errors, inputTokens, outputTokens });
      cell.spread.addBuckets(pairsOf(rest));
    }
    return unpacked;
  }

  #at(labels: Labels): Cell {
    const key = LABELS.map((label) => labels[label] ?? '').join('\n');
    const known = this.#cells.get(key);
    if (known) return known;
    const cell = { labels, calls: 0, errors: 0, inputTokens: 0, outputTokens: 0, spread: new Spread() };
    this.#cells.set(key, cell);
    return cell;
  }
}

interface Packed {
  readonly format: 1;
  readonly texts: readonly string[];
  /** For each cell: places of its labels in the texts, its four sums, and its buckets. */
  readonly cells: readonly (readonly number[])[];
}

/** The nearest principal of each type. */
function whoIn(principals: readonly { readonly type: string; readonly id: string }[]): Labels {
  const who: Partial<Record<Label, string>> = {};
  for (const { type, id } of principals) {
    const label = WHO[type];
    if (label) who[label] ??= id;
  }
  return who;
}

function addTokens(cell: Cell, { inputTokens, outputTokens }: TokenUsage, turns: number): void {
  cell.calls += turns;
  cell.inputTokens += inputTokens;
  cell.outputTokens += outputTokens;
}

function pairsOf(numbers: readonly number[]): Bucket[] {
  const pairs: Bucket[] = [];
  for (let at = 0; at + 1 < numbers.length; at += 2) pairs.push([numbers[at] ?? 0, numbers[at + 1] ?? 0]);
  return pairs;
}
