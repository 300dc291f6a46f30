import type { SettingsRecord } from '../../../resources/settings.ts';
import type { ImportedModel } from '../model/imported-model.ts';
import { NONE } from '../model/ordered-rows.ts';
import { indexesOf } from './product-indexes.ts';

/** For each step of the funnel: how many users passed it in [from, to), and how many seconds each of them took from the step before. */
export function passages(
  model: ImportedModel,
  settings: SettingsRecord,
  { start, end }: { start: number; end: number },
) {
  const indexes = indexesOf(model, settings);
  const { funnel } = indexes;
  const { time } = model.events.table.columns;
  const users = funnel.steps.map(() => 0);
  const seconds: number[][] = funnel.steps.map(() => []);
  const [first] = funnel.steps;
  if (first === undefined) return { users, seconds };
  indexes.of([first]).eachUser(start, end, (entered) => {
    let row = entered;
    for (let step = 0; ; step += 1) {
      users[step] = (users[step] ?? 0) + 1;
      const next = funnel.next(step, row);
      if (next === NONE || (time[next] ?? 0) >= end) return;
      seconds[step + 1]?.push(((time[next] ?? 0) - (time[row] ?? 0)) / 1000);
      row = next;
    }
  });
  return { users, seconds };
}

/** The parts that must be up to date before the funnel is used. */
export function funnelParts(model: ImportedModel, settings: SettingsRecord) {
  const indexes = indexesOf(model, settings);
  return indexes.parts(indexes.funnel.steps.slice(0, 1).map((step) => indexes.of([step])));
}
