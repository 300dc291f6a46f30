import type { Issue } from '../../resources/error.ts';
import type { Flow } from '../../resources/flow.ts';
import { ToolError } from '../core/errors.ts';
import type { Staged } from '../core/registry/tool.ts';
import { formatPath } from '../core/registry/validate.ts';
import { Busy, type JobOutcome, SideProcess } from '../core/side-process/side-process.ts';
import { analyzeTexts, MOST_MS, type ParsedTexts, type Texts } from './analyze-texts.ts';
import { isTemplate, limitProblem, type Parsed, withoutTimeLimit, workOf } from './expressions.ts';
import { isCheapCondition, isCheapTemplate } from './template-evaluator.ts';

/** What a flow does and when. Its runs act as the person or key that wrote these members. */
export type FlowDefinition = Pick<Flow, 'trigger' | 'steps' | 'agentId' | 'prompt'>;
type Written = Pick<Flow, 'steps' | 'prompt'>;

/** The texts of a flow, in characters. */
export const MOST_CHARACTERS = 500_000;
/** Of all templates, see `workOf`. */
export const MOST_WORK = 10_000_000;
const MOST_ISSUES = 100;
/** The analysis stops itself before this. */
const JOB_MS = 5000;
/** Conditions of no more characters are parsed in no time. */
const FEW_CHARACTERS = 10_000;

const module = new URL('./analyze-texts.ts', import.meta.url);
const apart = new SideProcess({ mostMegabytes: 256, mostWaiting: 8 });

/** What the texts of a definition refer to, found before its transaction begins, which would hold up all other writes. */
export class AnalyzedTexts implements Staged {
  /** Limits that the texts go beyond. They were not analyzed then. */
  readonly issues: readonly Issue[];
  readonly #templates: ReadonlyMap<string, Parsed>;
  readonly #conditions: ReadonlyMap<string, Parsed>;

  constructor(issues: readonly Issue[], texts?: Texts, parsed?: ParsedTexts) {
    this.issues = issues;
    this.#templates = byText(texts?.templates, parsed?.templates);
    this.#conditions = byText(texts?.conditions, parsed?.conditions);
  }

  template(text: string): Parsed {
    return isTemplate(text) ? known(this.#templates.get(text)) : { references: [] };
  }

  condition(text: string): Parsed {
    return known(this.#conditions.get(text));
  }

  async discard(): Promise<void> {}
}

export async function analyzedTextsOf(definition: Written, caller: string): Promise<AnalyzedTexts> {
  const { templates, conditions } = placedTextsOf(definition);
  const issues = limitIssues(templates, conditions);
  if (issues.length > 0) return new AnalyzedTexts(issues);
  const texts = {
    templates: unique(templates).filter(isTemplate),
    conditions: unique(conditions),
  };
  const parsed = isQuick(texts) ? analyzeTexts(texts, MOST_MS, withoutTimeLimit) : await analyzedApart(texts, caller);
  return new AnalyzedTexts([], texts, parsed);
}

function isQuick({ templates, conditions }: Texts): boolean {
  const length = sumOf(conditions.map((text) => text.length));
  return isCheapTemplate(templates) && length <= FEW_CHARACTERS && conditions.every(isCheapCondition);
}

async function analyzedApart(texts: Texts, caller: string): Promise<ParsedTexts> {
  const outcome = await jobOutcome(texts, caller);
  if ('value' in outcome) return outcome.value as ParsedTexts; // what the function returns
  if ('thrown' in outcome) throw new Error(outcome.thrown);
  const problem = { references: [], problem: `with the other texts of the flow ${outcome.ended}` };
  return { templates: texts.templates.map(() => problem), conditions: texts.conditions.map(() => problem) };
}

async function jobOutcome(texts: Texts, caller: string): Promise<JobOutcome> {
  try {
    return await apart.run({ module, name: 'analyzeTexts', args: [texts], timeoutMs: JOB_MS, caller });
  } catch (thrown) {
    if (!(thrown instanceof Busy)) throw thrown;
    throw new ToolError('unavailable', 'Too many flows of yours are being checked; try again in a few seconds.');
  }
}

interface PlacedText {
  readonly path: readonly PropertyKey[];
  readonly text: string;
}

function placedTextsOf({ prompt, steps }: Written): Record<keyof Texts, PlacedText[]> {
  const templates = textsIn(prompt, ['prompt']);
  const conditions: PlacedText[] = [];
  for (const [index, step] of (steps ?? []).entries()) {
    templates.push(...textsIn(step.arguments, ['steps', index, 'arguments']));
    conditions.push(...textsIn(step.when, ['steps', index, 'when']));
  }
  return { templates, conditions };
}

function limitIssues(templates: readonly PlacedText[], conditions: readonly PlacedText[]): Issue[] {
  const all = [...templates, ...conditions];
  const length = sumOf(all.map(({ text }) => text.length));
  if (length > MOST_CHARACTERS) {
    const longest = all.reduce((most, one) => (one.text.length > most.text.length ? one : most));
    const message = `The texts of the flow have ${length} characters in all; ${MOST_CHARACTERS} is the most. Shorten them; this one is the longest with ${longest.text.length}.`;
    return [{ path: formatPath(longest.path), message }];
  }
  const issues: Issue[] = [];
  for (const { path, text } of templates) {
    const message = limitProblem(text);
    if (message !== undefined && issues.push({ path: formatPath(path), message }) >= MOST_ISSUES) return issues;
  }
  const work = templates.map(({ text }) => workOf(text));
  const heaviest = templates[work.indexOf(Math.max(0, ...work))];
  if (issues.length > 0 || !heaviest || sumOf(work) <= MOST_WORK) return issues;
  return [{ path: formatPath(heaviest.path), message: TOO_MUCH }];
}

const TOO_MUCH = `The templates of the flow have too many outputs and tags for their length, this one the most: outputs times characters may be ${MOST_WORK} in all. Make the texts shorter, or write a whole output of a step instead of its parts.`;

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export function textsIn(value: unknown, path: readonly PropertyKey[]): PlacedText[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((item, index) => textsIn(item, [...path, index]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => textsIn(item, [...path, name]));
}

function unique(placed: readonly PlacedText[]): string[] {
  return [...new Set(placed.map(({ text }) => text))];
}

function byText(texts: readonly string[] = [], parsed: readonly Parsed[] = []): Map<string, Parsed> {
  return new Map(parsed.map((one, index) => [texts[index] ?? '', one]));
}

function known(parsed: Parsed | undefined): Parsed {
  if (parsed) return parsed;
  throw new ToolError('conflict', 'The flow was changed at the same time; read it with get_flow and try again.');
}
