import { conditions } from './conditions.ts';
import { isTemplate, templates } from './templates.ts';

/** What templates and conditions see: the input of the run, and the outputs of earlier steps; null of one that has none. */
export interface Scope {
  readonly input: object;
  readonly steps: Readonly<Record<string, { readonly output: unknown }>>;
}

/** A text that is one output and nothing else, which keeps the type of its value. */
const WHOLE = /^\s*\{\{-?((?:(?!\}\}|\{\{)[\s\S])*)\}\}\s*$/;

/** The arguments with every template in them filled. @throws Error that says what is wrong with which text */
export function render(value: unknown, scope: Scope): unknown {
  if (typeof value === 'string') return isTemplate(value) ? renderText(value, scope) : value;
  if (Array.isArray(value)) return value.map((item) => render(item, scope));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, render(item, scope)]));
}

function renderText(text: string, scope: Scope): unknown {
  const [, whole] = WHOLE.exec(text) ?? [];
  try {
    if (whole === undefined) return templates.parseAndRenderSync(text, scope);
    return templates.evalValueSync(whole.replace(/-$/, ''), scope) ?? null;
  } catch (thrown) {
    throw new Error(`The template ${JSON.stringify(text.slice(0, 100))} cannot be filled: ${firstLine(thrown)}.`);
  }
}

/** Whether the condition holds. @throws Error that says what is wrong */
export function holds(condition: string, scope: Scope): boolean {
  let result: unknown;
  try {
    result = conditions.evaluate(condition, { ...scope });
  } catch (thrown) {
    throw new Error(`The condition ${JSON.stringify(condition.slice(0, 100))} cannot be judged: ${firstLine(thrown)}.`);
  }
  if (typeof result !== 'boolean') throw new Error(`The condition gives ${typeof result}, not true or false.`);
  return result;
}

function firstLine(thrown: unknown): string {
  return ((thrown instanceof Error ? thrown.message : '').split('\n', 1)[0] ?? '').replace(/\.$/, '');
}
