import { setImmediate } from 'node:timers/promises';

const AT_ONCE = 1000;

/** What the work makes of each item, one after the other. Other work runs in between where there are many. */
export async function mapInSeries<Item, Made>(
  items: readonly Item[],
  work: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = [];
  for (const item of items) {
    made.push(await work(item));
    if (made.length % AT_ONCE === 0) await setImmediate();
  }
  return made;
}
