import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lastDays } from '../../tools/analytics/days.ts';
import { fc } from '../support/property.ts';

describe('the last days', () => {
  it('are those of the time zone, also where the clocks change', () => {
    assert.deepEqual(lastDays(new Date('2026-03-29T22:30:00.000Z'), 'Europe/Berlin', 3), [
      { date: '2026-03-28', from: '2026-03-27T23:00:00.000Z', to: '2026-03-28T23:00:00.000Z' },
      { date: '2026-03-29', from: '2026-03-28T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' },
      { date: '2026-03-30', from: '2026-03-29T22:00:00.000Z', to: '2026-03-30T22:00:00.000Z' },
    ]);
    const [kathmandu] = lastDays(new Date('2026-01-01T18:14:59.999Z'), 'Asia/Kathmandu', 1);
    assert.deepEqual(kathmandu, {
      date: '2026-01-01',
      from: '2025-12-31T18:15:00.000Z',
      to: '2026-01-01T18:15:00.000Z',
    });
  });

  it('begin at the first minute where the clocks skip midnight', () => {
    const [day] = lastDays(new Date('2026-04-24T10:00:00.000Z'), 'Africa/Cairo', 1);
    assert.deepEqual(day, { date: '2026-04-24', from: '2026-04-23T22:00:00.000Z', to: '2026-04-24T21:00:00.000Z' });
  });

  it('follow each other without gap or overlap, and the last holds now', () => {
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Kiritimati', 'Pacific/Niue');
    const time = fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true });
    fc.assert(
      fc.property(time, zone, (now, timezone) => {
        const days = lastDays(now, timezone, 30);
        assert.equal(days.length, 30);
        for (const [index, day] of days.entries()) {
          if (index > 0) assert.equal(day.from, days[index - 1]?.to);
          assert.ok(day.from < day.to);
        }
        const last = days.at(-1);
        assert.ok(last && last.from <= now.toISOString() && now.toISOString() < last.to);
      }),
      { numRuns: 200 },
    );
  });
});
