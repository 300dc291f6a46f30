import { Cron } from 'croner';

/** Why no run would ever start by this expression, or undefined where it is good. */
export function scheduleProblem(expression: string, timezone: string): string | undefined {
  try {
    const cron = new Cron(expression, { paused: true, mode: '5-part', timezone });
    return cron.nextRun() ? undefined : 'There is no time at which this comes';
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : 'It cannot be parsed';
  }
}
