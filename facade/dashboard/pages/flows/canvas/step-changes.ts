import type { Step } from './words.ts';

/** `list_skills` -> `skills`, with a number where the flow has a step of that name. */
function freeId(tool: string, steps: readonly Step[]): string {
  const [, ...rest] = tool.split('_');
  const base = (rest.join('_') || tool || 'step')
    .replace(/\W/g, '_')
    .replace(/^(?=\d)/, '_')
    .slice(0, 50);
  const taken = new Set(steps.map(({ id }) => id));
  for (let count = 1; ; count += 1) {
    const id = count === 1 ? base : `${base}${count}`;
    if (!taken.has(id) && !(id in {})) return id;
  }
}

export function inserted(steps: readonly Step[], at: number, tool: string): readonly Step[] {
  return steps.toSpliced(at, 0, { id: freeId(tool, steps), tool, arguments: {} });
}

export function duplicated(steps: readonly Step[], at: number): readonly Step[] {
  const step = steps[at];
  if (!step) return steps;
  const base = step.id.replace(/\d+$/, '') || step.id;
  return steps.toSpliced(at + 1, 0, { ...structuredClone(step), id: freeId(`_${base}`, steps) });
}

export function moved(steps: readonly Step[], from: number, to: number): readonly Step[] {
  const [step] = steps.slice(from, from + 1);
  return step ? steps.toSpliced(from, 1).toSpliced(to, 0, step) : steps;
}

const NAME = /^[A-Za-z_]\w*$/;

/** The steps with another one in this place. Where its name is another, later steps name it so. */
export function replaced(steps: readonly Step[], at: number, step: Step): readonly Step[] {
  const before = steps[at];
  const next = steps.toSpliced(at, 1, step);
  const { id } = step;
  if (!before || before.id === id || !NAME.test(before.id) || !NAME.test(id)) return next;
  if (steps.some((other, index) => index !== at && (other.id === id || other.id === before.id))) return next;
  const place = new RegExp(`\\bsteps\\.${before.id}\\.output\\b`, 'g');
  return next.map((other, index) => (index > at ? renamed(other, place, `steps.${id}.output`) : other));
}

function renamed(step: Step, place: RegExp, to: string): Step {
  return {
    ...step,
    ...(step.arguments && {
      arguments: inTexts(step.arguments, (text) => text.replace(place, to)) as Record<string, unknown>,
    }), // a record stays one
    ...(step.when !== undefined && { when: step.when.replace(place, to) }),
  };
}

function inTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => inTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inTexts(item, change)]));
}

/** Steps that this one takes data of although they do not stand before it. */
export function missingBefore(steps: readonly Step[], at: number): readonly string[] {
  const step = steps[at];
  const given = JSON.stringify(step?.arguments) ?? '';
  const texts = [...(given.match(/\{[{%].*?[}%]\}/g) ?? []), step?.when ?? ''].join(' ');
  const before = new Set(steps.slice(0, at).map(({ id }) => id));
  const named = [...texts.matchAll(/\bsteps\.([A-Za-z_]\w*)/g)].map(([, id = '']) => id);
  return [...new Set(named)].filter((id) => !before.has(id));
}
