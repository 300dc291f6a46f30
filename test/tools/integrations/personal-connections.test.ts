import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConnectionPool, type UpstreamConnection } from '../../../tools/integrations/upstream/connection-pool.ts';
import { until } from '../../support/until.ts';

/** The lines of a server that is only counted: who has a connection, and whose was closed. */
function counted(limits: { most: number; idleMs: number }) {
  const [opened, closed]: [string[], string[]] = [[], []];
  const lost = new Map<string, () => void>();
  let fails = false;
  const lines = new ConnectionPool(
    {
      async open(userId, { onLost }) {
        if (fails) throw new Error('away');
        opened.push(userId);
        lost.set(userId, () => onLost(undefined));
        // Only what the lines themselves use of a connection.
        return {
          connection: { isLegacy: true, close: async () => void closed.push(userId) },
        } as unknown as UpstreamConnection;
      },
      list: async (line) => line,
      onConnecting() {},
      onListed() {},
      onAway() {},
    },
    limits,
  );
  const fail = (value: boolean) => {
    fails = value;
  };
  return { lines, opened, closed, lost, fail };
}

const LONG = { most: 2, idleMs: 60_000 };

describe('the connections of persons', () => {
  it('are opened by the first call, and shared by the next ones', async () => {
    const { lines, opened } = counted(LONG);
    const calls = Array.from({ length: 3 }, () => lines.use('ada', async () => 1));
    assert.deepEqual(await Promise.all(calls), [1, 1, 1]);
    assert.deepEqual(opened, ['ada']);
    await lines.stop(new Error('end'));
  });

  it('are closed when nobody uses them, and opened again when somebody does', async () => {
    const { lines, opened, closed } = counted({ most: 2, idleMs: 1 });
    await lines.use('ada', async () => undefined);
    await until(() => closed.length === 1);
    assert.equal(lines.count, 0);
    await lines.use('ada', async () => undefined);
    assert.deepEqual(opened, ['ada', 'ada']);
    await lines.stop(new Error('end'));
  });

  it('are so many at most: the one that was used longest ago makes room, one in use never', async () => {
    const { lines, opened, closed } = counted(LONG);
    await lines.use('ada', async () => undefined);
    await lines.use('bob', async () => undefined);
    await lines.use('ada', async () => undefined);
    await lines.use('eve', async () => undefined);
    assert.deepEqual([opened, closed], [['ada', 'bob', 'eve'], ['bob']]);
    await lines.use('ada', () =>
      lines.use('eve', async () => {
        await assert.rejects(
          lines.use('bob', async () => undefined),
          /Too many people/,
        );
      }),
    );
    await lines.stop(new Error('end'));
    assert.deepEqual(closed.sort(), ['ada', 'bob', 'eve']);
  });

  it('end at once with the account, and the calls over them with the reason', async () => {
    const { lines, closed } = counted(LONG);
    const reason = new Error('it ended');
    const call = lines.use(
      'ada',
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('other')))),
    );
    await until(() => lines.count === 1);
    await lines.use('ada', async () => undefined);
    const ended = assert.rejects(call, reason);
    await lines.end('ada', reason);
    await ended;
    assert.deepEqual([lines.count, closed], [0, ['ada']]);
  });

  it('are made anew after they were lost, were in doubt or could not be made', async () => {
    const { lines, opened, closed, lost, fail } = counted(LONG);
    await lines.use('ada', async () => undefined);
    lost.get('ada')?.();
    await lines.use('ada', async () => lines.doubt('ada'));
    await lines.use('ada', async () => undefined);
    assert.equal(opened.length, 3);
    await until(() => closed.length === 2);
    fail(true);
    await assert.rejects(
      lines.use('bob', async () => undefined),
      /away/,
    );
    fail(false);
    await lines.use('bob', async () => undefined);
    await lines.stop(new Error('end'));
  });
});
