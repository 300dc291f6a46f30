import { Cron } from 'croner';

/** Why no run would ever start by this expression. Undefined if it is valid. */
export function scheduleProblem(expression: string, timezone: string): string | undefined {
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && !expression.startsWith('@')) return `it has ${fields} fields, and five are needed`;
  try {
    const cron = new Cron(expression, { paused: true, mode: '5-part', timezone });
    return cron.nextRun() ? undefined : 'it matches no time';
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message.replace(/\.$/, '') : 'it cannot be read';
  }
}
