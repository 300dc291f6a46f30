import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rounds } from '../../support/full.ts';
import { fc } from '../../support/property.ts';
import { growingWorlds, settings } from './growing-worlds.ts';
import { RUNS } from './rounds.ts';
import { openWorlds, USER_PURGE, type World } from './worlds.ts';

const NOW = '2026-04-10T15:00:00Z';
const DAY = 86_400_000;
const growing = await openWorlds(NOW, settings);
const fresh = await openWorlds(NOW, settings);

const keyOf = ({ type, row }: World[number]) => `${type} ${type === 'users' ? row.uid : row.id}`;

/** The world without replaced rows. Earlier statements about subscriptions and websites still count. */
function lasting(world: World): World {
  const last = new Map(world.map((row, at) => [keyOf(row), at]));
  return world.filter((row, at) => /^(s|w)/.test(keyOf(row)) || row.type === USER_PURGE || last.get(keyOf(row)) === at);
}

async function sameAsFresh(world: World, asked: readonly string[], input: object): Promise<void> {
  fresh.enter(lasting(world));
  for (const tool of asked) {
    assert.deepEqual(await growing.ask(tool, input), await fresh.ask(tool, input), `${tool} ${JSON.stringify(input)}`);
  }
}

describe('answers about data that grows', () => {
  it('are those about the same data read at once, whatever was asked before and whatever was replaced', async () => {
    await fc.assert(
      fc.asyncProperty(growingWorlds, async ({ steps, asked }) => {
        growing.enter([]);
        const world: World[number][] = [];
        for (const { more, question: input } of steps) {
          growing.add(more);
          world.push(...more);
          await sameAsFresh(world, asked, input);
        }
        for (const { table, equal } of await growing.rebuild()) assert.ok(equal, `${table} made anew is another`);
      }),
      // Each world is read many times over.
      { ...RUNS, numRuns: rounds(3, 80) },
    );
  });
});

const visit = (number: number, at: string, visitorId = 'x'): World[number] => ({
  type: 'visits',
  row: { id: `v${number}`, visitorId, page: '/', at },
});

describe('a visit that comes late', () => {
  it('makes a session reach over midnight: the visitor is there on both days, once each', async () => {
    const asked = { from: '2026-03-29', to: '2026-04-01', interval: 'day', timezone: 'Pacific/Apia' };
    growing.enter([visit(1, '2026-03-29T10:50:00Z'), visit(2, '2026-03-29T12:00:00Z')]);
    const shown = async () => {
      const { series } = await growing.ask('get_traffic_visitors', asked);
      return series.map((day: Record<string, number>) => [day.visitors, day.sessions, day.pageViews]);
    };
    assert.deepEqual(await shown(), [
      [1, 1, 1],
      [1, 1, 1],
      [0, 0, 0],
    ]);
    growing.add([visit(3, '2026-03-29T11:10:00Z')]);
    assert.deepEqual(await shown(), [
      [1, 1, 1],
      [1, 1, 2],
      [0, 0, 0],
    ]);
  });
});

describe('days that clocks or calendars cut short', () => {
  const hourly = (from: string, hours: number) =>
    Array.from({ length: hours }, (_, hour) =>
      visit(hour, new Date(Date.parse(from) + hour * 3_600_000).toISOString(), `x${hour}`),
    );
  const cases = [
    ['America/St_Johns', '2026-03-08', 23],
    ['America/St_Johns', '2026-11-01', 25],
    ['Asia/Kathmandu', '2026-03-08', 24],
    ['Pacific/Apia', '2011-12-29', 24],
    ['Pacific/Apia', '2011-12-30', 0],
    ['Pacific/Apia', '2011-12-31', 24],
  ] as const;
  for (const [timezone, date, hours] of cases) {
    it(`${date} in ${timezone} has the visits of ${hours} hours`, async () => {
      growing.enter(hourly(new Date(Date.parse(date) - 2 * DAY).toISOString(), 120));
      const to = new Date(Date.parse(date) + DAY).toISOString().slice(0, 10);
      const { totals, series } = await growing.ask('get_traffic_visitors', { from: date, to, timezone });
      assert.deepEqual([totals.pageViews, totals.visitors, series.length], [hours, hours, 1]);
    });
  }
});
