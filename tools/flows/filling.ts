import { plain, Room } from '../audit/room.ts';
import { type Job, SideProcess } from '../side-process/side-process.ts';
import { holds, render, type Scope } from './render.ts';
import { isTemplate } from './templates.ts';

/** How long the templates and conditions of one run may take in all. */
const RUN_MS = 2000;
/** What stops by itself does so sooner. */
const JOB_MS = 1500;

const module = new URL('./render.ts', import.meta.url);
/** As many runs wait as there are under way. */
const apart = new SideProcess({ mostMegabytes: 256, mostWaiting: 1000 });

/** The templates and conditions of a run have taken all the time there is for them. */
export class Exhausted extends Error {
  constructor() {
    const message = `The templates and conditions of the run take more than ${RUN_MS} ms in all; make them simpler, or let steps do the work.`;
    super(message);
  }
}

/** Fills the templates and judges the conditions of one run. What could take long is done in a process of its own. */
export class Filling {
  #left: number;

  constructor(mostMs = RUN_MS) {
    this.#left = mostMs;
  }

  /** The arguments with every template in them filled. @throws Error that says what is wrong with which text; Exhausted */
  async render(value: unknown, scope: Scope): Promise<unknown> {
    if (isQuicklyFilled(value) && isSmall(scope)) return render(value, scope);
    return this.#apart('render', [value, scope], 'The templates cannot be filled');
  }

  /** Whether the condition holds. @throws Error that says what is wrong; Exhausted */
  async holds(condition: string, scope: Scope): Promise<boolean> {
    if (isQuicklyJudged(condition) && isSmall(scope)) return holds(condition, scope);
    const what = `The condition ${JSON.stringify(condition.slice(0, 100))} cannot be evaluated`;
    return (await this.#apart('holds', [condition, scope], what)) as boolean; // as the function is declared
  }

  async #apart(name: string, args: Job['args'], what: string): Promise<unknown> {
    if (this.#left <= 0) throw new Exhausted();
    const outcome = await apart.run({ module, name, args, timeoutMs: Math.min(JOB_MS, this.#left) });
    this.#left -= outcome.ms;
    if ('value' in outcome) return outcome.value;
    if (this.#left <= 0) throw new Exhausted();
    throw new Error('thrown' in outcome ? outcome.thrown : `${what}: ${outcome.ended}.`);
  }
}

const SMALL = 64 * 1024;
const MOST_OUTPUTS = 20;
const LONGEST = 10_000;
const OUTPUT = /\{\{-?\s*[\w.]+\s*-?\}\}/g;

/** Whether the texts hold nothing but a few paths to values. */
function isQuicklyFilled(value: unknown): boolean {
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

/** Whether the condition compares values and calls nothing that could go on. */
function isQuicklyJudged(condition: string): boolean {
  return !CALL.test(condition.replace(QUOTED, '""'));
}

function isSmall(scope: Scope): boolean {
  const room = new Room(SMALL);
  plain(scope, room);
  return room.left > 0;
}
