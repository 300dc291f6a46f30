import { setImmediate } from 'node:timers/promises';

const AT_ONCE = 1000;

/** Does the work for one item after the other, and lets other work run in between. */
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
