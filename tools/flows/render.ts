import { conditions, isTemplate, type RunWork, TimeLimitExceeded, templates, withTimeLimit } from './expressions.ts';

/** What templates and conditions see: the input of the run, and the output of each earlier step, null where the step has none. */
export interface TemplateScope {
  readonly input: unknown;
  readonly steps: Readonly<Record<string, { readonly output: unknown }>>;
}

/** A text that is one output and nothing else. Its value keeps its type. */
const WHOLE = /^\s*\{\{-?((?:(?!\}\}|\{\{)[\s\S])*)\}\}\s*$/;

export const LARGEST = 1024 * 1024;

/** The arguments with all templates filled. @throws Error that says what is wrong with which text */
export function render(value: unknown, scope: TemplateScope, run: RunWork = withTimeLimit): unknown {
  let rendered: unknown;
  try {
    rendered = run(() => fill(value, scope));
  } catch (thrown) {
    throw thrown instanceof TimeLimitExceeded
      ? new Error(`The templates cannot be filled: ${thrown.message}.`)
      : thrown;
  }
  const length = JSON.stringify(rendered)?.length ?? 0;
  if (length <= LARGEST) return rendered;
  throw new Error(`The arguments have ${length} characters with their templates filled; ${LARGEST} is the most.`);
}

function fill(value: unknown, scope: TemplateScope): unknown {
  if (typeof value === 'string') return isTemplate(value) ? renderText(value, scope) : value;
  if (Array.isArray(value)) return value.map((item) => fill(item, scope));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, scope)]));
}

function renderText(text: string, scope: TemplateScope): unknown {
  const [, whole] = WHOLE.exec(text) ?? [];
  try {
    // A copy, because the tags `increment` and `decrement` write into the scope.
    if (whole === undefined) return fitting(templates.parseAndRenderSync(text, { ...scope }));
    return templates.evalValueSync(whole.replace(/-$/, ''), scope) ?? null;
  } catch (thrown) {
    throw new Error(`The template ${JSON.stringify(text.slice(0, 100))} cannot be filled: ${firstLine(thrown)}.`);
  }
}

function fitting(text: string): string {
  if (text.length <= LARGEST) return text;
  throw new Error(`it gives ${text.length} characters, and ${LARGEST} is the most`);
}

/** Whether the condition is true. @throws Error that says what is wrong */
export function holds(condition: string, scope: TemplateScope, run: RunWork = withTimeLimit): boolean {
  let result: unknown;
  try {
    result = run(() => conditions.evaluate(condition, { ...scope }));
  } catch (thrown) {
    throw new Error(
      `The condition ${JSON.stringify(condition.slice(0, 100))} cannot be evaluated: ${firstLine(thrown)}.`,
    );
  }
  if (typeof result !== 'boolean') throw new Error(`The condition gives ${typeof result}, not true or false.`);
  return result;
}

function firstLine(thrown: unknown): string {
  return ((thrown instanceof Error ? thrown.message : '').split('\n', 1)[0] ?? '').replace(/\.$/, '');
}
