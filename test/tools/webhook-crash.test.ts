import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { killedAtEnd } from '../support/at-end.ts';
import { nodeArgs } from '../support/node-args.ts';
import { testDatabase, withoutPostgres } from '../support/postgres.ts';
import { dataFolder, removeFolder } from '../support/store.ts';
import { until } from '../support/until.ts';
import { type Received, startReceiver, WebhookWorld } from '../support/webhook-world.ts';

const CHILD = fileURLToPath(new URL('webhook-crash-child.ts', import.meta.url));
const idOf = ({ headers }: Received) => String(headers['webhook-id']);

describe('kill -9 while events are sent', () => {
  it('loses no event of an acknowledged change, and sends what was under way again under the same id', async () => {
    const folder = await dataFolder();
    const receiver = await startReceiver();
    let count = 0;
    receiver.answer = (response) => {
      count += 1;
      if (count <= 20) response.writeHead(204).end(); // later ones are under way for ever
    };
    const child = killedAtEnd(spawn(process.execPath, [...nodeArgs(CHILD), folder, receiver.url]));
    const said = text(child.stdout);
    await until(() => count > 22);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const acknowledged = (await said).split('\n').slice(0, -1);
    const underWay = receiver.received.slice(20).map(idOf);
    receiver.answer = 204;
    const world = await WebhookWorld.open({ folder });
    const { data } = await world.must('list_webhooks', {});
    await world.sent(data[0].id);
    const told = new Set(receiver.received.map(({ event }) => event.data.id));
    for (const id of acknowledged) assert.ok(told.has(id), `${id} was acknowledged and nobody told`);
    const counts = new Map<string, number>();
    for (const received of receiver.received) counts.set(idOf(received), (counts.get(idOf(received)) ?? 0) + 1);
    // Once more, or oftener where the first try had already been given up.
    for (const id of underWay) assert.ok((counts.get(id) ?? 0) >= 2, id);
    assert.equal(counts.size, told.size);
    await world.close();
    await removeFolder(folder);
  });
});

describe('two processes on one database', { skip: withoutPostgres }, () => {
  it('note what happens in either, and send each event once, in order', async () => {
    const { url } = await testDatabase();
    const [one, other] = [await WebhookWorld.open({ url }), await WebhookWorld.open({ url })];
    const receiver = await startReceiver();
    const events = ['skill.created', 'skill.updated'];
    const { id } = await one.webhook({ target: { url: receiver.url }, events });
    const waiting = () => other.store.webhookDeliveries.count({ where: { webhookId: id } });
    const { id: skill } = await one.must('create_skill', { name: 'shared', instructions: 'x' });
    let known = await waiting();
    for (let at = 0; known < 2; at += 1) {
      await other.must('update_skill', { id: skill, instructions: `until it is known ${at}` });
      known = await waiting();
    }
    const from = (await one.must('get_skill', { id: skill })).revision;
    for (let at = 0; at < 10; at += 1) {
      await (at % 2 ? one : other).must('update_skill', { id: skill, instructions: `change ${at}` });
    }
    await one.sent(id);
    const revisions = receiver.received.map(({ event }) => event.data.revision);
    assert.deepEqual(
      revisions,
      [...revisions].sort((a, b) => a - b),
    );
    assert.equal(new Set(receiver.received.map(idOf)).size, receiver.received.length);
    const late = revisions.filter((revision) => revision > from);
    assert.deepEqual(
      late,
      Array.from({ length: 10 }, (_, at) => from + 1 + at),
    );
    for (const world of [one, other]) {
      assert.deepEqual(world.failures, []);
      await world.close();
    }
  });
});
