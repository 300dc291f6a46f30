import { SizeBudget, truncated } from '../core/history/size-budget.ts';
import { type Job, SideProcess } from '../core/side-process/side-process.ts';
import { isTemplate, withoutTimeLimit } from './expressions.ts';
import { holds, render, type TemplateScope } from './render.ts';

export const RUN_MS = 2000;
/** A job in the other process stops itself before this. */
const JOB_MS = 1500;

const module = new URL('./render.ts', import.meta.url);
/** As many runs can wait as can be under way. */
const apart = new SideProcess({ mostMegabytes: 256, mostWaiting: 1000 });

export class EvaluationTimeUsedUp extends Error {
  constructor() {
    const message = `The templates and conditions of the run take more than ${RUN_MS} ms in all; make them simpler, or let steps do the work.`;
    super(message);
  }
}

/** Fills the templates and judges the conditions of one run. Work that could take long runs in a process of its own. */
export class TemplateEvaluator {
  readonly #caller: string;
  #left: number;

  /** `caller`: for whom the run acts. */
  constructor(caller = '', mostMs = RUN_MS) {
    this.#caller = caller;
    this.#left = mostMs;
  }

  /** The arguments with all templates filled. @throws Error that says what is wrong with which text; Exhausted */
  async render(value: unknown, scope: TemplateScope): Promise<unknown> {
    if (isCheapTemplate(value) && isSmall(scope)) return render(value, scope, withoutTimeLimit);
    return this.#apart('render', [value, scope], 'The templates cannot be filled');
  }

  /** Whether the condition is true. @throws Error that says what is wrong; Exhausted */
  async holds(condition: string, scope: TemplateScope): Promise<boolean> {
    if (isCheapCondition(condition) && isSmall(scope)) return holds(condition, scope, withoutTimeLimit);
    const what = `The condition ${JSON.stringify(condition.slice(0, 100))} cannot be evaluated`;
    return (await this.#apart('holds', [condition, scope], what)) as boolean; // the function returns a boolean
  }

  async #apart(name: string, args: Job['args'], what: string): Promise<unknown> {
    if (this.#left <= 0) throw new EvaluationTimeUsedUp();
    const outcome = await apart.run({
      module,
      name,
      args,
      timeoutMs: Math.min(JOB_MS, this.#left),
      caller: this.#caller,
    });
    this.#left -= outcome.ms;
    if ('value' in outcome) return outcome.value;
    if (this.#left <= 0) throw new EvaluationTimeUsedUp();
    throw new Error('thrown' in outcome ? outcome.thrown : `${what}: ${outcome.ended}.`);
  }
}

const SMALL = 64 * 1024;
const MOST_OUTPUTS = 20;
const LONGEST = 10_000;
const OUTPUT = /\{\{-?\s*[\w.]+\s*-?\}\}/g;

export function isCheapTemplate(value: unknown): boolean {
  const found = templatesIn(value);
  if (found.reduce((length, text) => length + text.length, 0) > LONGEST) return false;
  if (found.some((text) => isTemplate(text.replace(OUTPUT, '')))) return false;
  return found.reduce((count, text) => count + (text.match(OUTPUT)?.length ?? 0), 0) <= MOST_OUTPUTS;
}

function templatesIn(value: unknown): string[] {
  if (typeof value === 'string') return isTemplate(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(templatesIn) : [];
}

const QUOTED = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;
const CALL = /\b(?!has\b|size\b)\w+\s*\(/;

/** Whether the condition only compares values and calls nothing that could take long. */
export function isCheapCondition(condition: string): boolean {
  return !CALL.test(condition.replace(QUOTED, '""'));
}

function isSmall(scope: TemplateScope): boolean {
  const room = new SizeBudget(SMALL);
  truncated(scope, room);
  return room.left > 0;
}
