import type { FlowStep } from '../../../../../resources/flow.ts';
import { counted, labelOf } from '../../../app.ts';
import type { IconName } from '../../../ui.ts';

/** As its form holds it. */
export type Step = Pick<FlowStep, 'id' | 'tool'> & Partial<FlowStep>;

export function stepsOf(value: unknown): readonly Step[] {
  return Array.isArray(value) ? value : [];
}

type Trigger = Readonly<{ kind?: string; expression?: string; timezone?: string; type?: string }> & {
  readonly signature?: { readonly scheme: string };
};

export function triggerOf(trigger: unknown): Trigger {
  return (trigger ?? {}) as Trigger; // as the schema of a flow says
}

export function triggerWords(trigger: unknown): string {
  const { kind, expression = '', timezone, type = '…' } = triggerOf(trigger);
  if (kind === 'cron') return [scheduleWords(expression), timezone].filter(Boolean).join(', ');
  if (kind === 'event') return `On ${type}`;
  return kind === 'webhook' ? 'By webhook' : 'By hand';
}

export function triggerIcon(trigger: unknown): IconName {
  const icons: Readonly<Record<string, IconName>> = { cron: 'clock', webhook: 'link', event: 'info' };
  return icons[triggerOf(trigger).kind ?? ''] ?? 'play';
}

/** Usual schedules; others are shown as they are written. */
const SCHEDULES: Readonly<Record<string, string>> = { '* * * * *': 'Every minute', '0 * * * *': 'Every hour' };

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** `0 8 * * 1` -> `Every Monday at 08:00`. What is rarer is shown as it is written. */
function scheduleWords(expression: string): string {
  const [, minute, hour, day, weekday] = /^(\d{1,2}) (\d{1,2}) (\*|1) \* (\*|[0-7])$/.exec(expression) ?? [];
  if (minute === undefined || hour === undefined || (day !== '*' && weekday !== '*')) {
    return SCHEDULES[expression] ?? `On schedule ${expression}`;
  }
  const every = day === '1' ? 'first of the month' : (DAYS[Number(weekday)] ?? 'day');
  return `Every ${every} at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
}

const ICONS: readonly (readonly [RegExp, IconName])[] = [
  [/agent|chat/, 'agent'],
  [/^send_http/, 'link'],
  [/^(send|deliver|notify)|mail|message/, 'send'],
  [/^(list|search|find|query)_/, 'search'],
  [/^(get|read|explain|compare)_/, 'eye'],
  [/flow/, 'flow'],
  [/report/, 'report'],
  [/^(create|add|fork)_/, 'plus'],
  [/^(delete|remove|revoke)_/, 'trash'],
  [/^(update|set|restore|rotate)_/, 'edit'],
  [/import/, 'import'],
];

/** What drawing stands for what a tool does. */
export function toolIcon(tool: string): IconName {
  return ICONS.find(([pattern]) => pattern.test(tool))?.[1] ?? 'tool';
}

const MOST_SHOWN = 2;
const LONGEST = 60;

/** What the step is given, in a line: `Name: Paused on ‹input.day›`. */
export function givenWords(args: Readonly<Record<string, unknown>> | undefined): string {
  const given = Object.entries(args ?? {}).filter(([, value]) => value !== undefined && value !== '');
  const words = given.slice(0, MOST_SHOWN).map(([name, value]) => `${labelOf(name)}: ${shortText(value)}`);
  return [...words, ...(given.length > MOST_SHOWN ? [`${given.length - MOST_SHOWN} more`] : [])].join(' · ');
}

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const plain = text
    .replace(/\{\{-?\s*(.*?)\s*-?\}\}/gs, (_, inner: string) => `‹${dataWords(inner)}›`)
    .replace(/\s+/g, ' ');
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
}

/** `steps.paused.output.data` -> `paused › data`; `input.day | upcase` -> `input › day`. */
function dataWords(expression: string): string {
  const [path = ''] = expression.split('|');
  return path
    .trim()
    .replace(/^steps\.(\w+)\.output/, '$1')
    .replaceAll('.', ' › ');
}

/** What is special about a step, each in a few words. */
export function notesOf({ when, approval, onError, retry }: Partial<Step>): readonly string[] {
  return [
    when !== undefined && `Only if ${when}`,
    approval && 'Asks a person first',
    retry && retry.attempts > 1 && `${counted(retry.attempts, 'try', 'tries')}, ${retry.delayMs / 1000} s apart`,
    onError === 'continue' && 'Goes on if it fails',
  ].filter((note) => typeof note === 'string');
}
