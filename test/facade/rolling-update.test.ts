// alone: three servers and a database of its own
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { mustCall, rest } from '../support/calls.ts';
import { runFile, type ServerProcess } from '../support/child.ts';
import { FULL } from '../support/full.ts';
import { withoutPostgres } from '../support/postgres.ts';
import { copyOfProject } from '../support/project-copy.ts';
import { KEY, ThreeProcesses } from './three-processes.ts';

const LATER = '99.0.0';
/** What a later version adds to tables that are written all the time. */
const MIGRATION = `
  alter table documents add column of_tomorrow text not null default 'unknown';
  create index documents_of_tomorrow on documents (of_tomorrow);
`;

/** A copy of this version with one migration more, and with a field more of skills. */
function laterVersion(): string {
  const folder = copyOfProject();
  const edit = (path: string, change: (text: string) => string) => {
    const before = readFileSync(join(folder, path), 'utf8');
    const changed = change(before);
    assert.notEqual(changed, before, path);
    writeFileSync(join(folder, path), changed);
  };
  writeFileSync(join(folder, 'store/postgres/migrations/900-of-tomorrow.sql'), MIGRATION);
  edit('package.json', (text) => JSON.stringify({ ...JSON.parse(text), version: LATER }));
  edit('resources/skill.ts', (text) =>
    text.replace('...bookkeeping', 'ofTomorrow: z.string().optional(), ...bookkeeping'),
  );
  edit('tools/skills.ts', (text) =>
    text.replace(
      "name: name.describe('Unique.'),",
      "name: name.describe('Unique.'), ofTomorrow: z.string().optional(),",
    ),
  );
  return folder;
}

describe('a rolling update of processes on one database', { skip: withoutPostgres }, () => {
  if (!FULL) return;
  const world = new ThreeProcesses();
  let later: string;
  before(async () => {
    later = laterVersion();
    await world.open();
  });
  after(() => world.close());

  const doctorOf = async (project?: string) => {
    const env = { ...world.env, DATA_DIR: world.folder };
    const { stdout } = await runFile('facade/commands/doctor.ts', { env, ...(project && { project }) });
    return stdout.split('\n').find((line) => /^\w+ +tables /.test(line)) ?? assert.fail(stdout);
  };

  it('loses nothing under load, while processes of both versions serve', async () => {
    assert.match(await doctorOf(later), /^warn .*from \d{3}-[\w-]+ to 900-of-tomorrow\. .*pg_dump/);
    world.load();
    await world.progress(40);
    for (const at of [2, 1]) {
      await world.stop(at);
      await world.progress(10);
      const server = await world.start(at, later);
      const notice = /The tables of the database are brought from \S+ to 900-of-tomorrow\. .*\(pg_dump\) made before\./;
      // The first that starts changes the tables; the next finds them so.
      if (at === 2) assert.match(server.said(), notice);
      else assert.doesNotMatch(server.said(), notice);
      await assertUnderstood(world.servers[0], server);
      await world.progress(40);
    }
    assert.match(await doctorOf(), /^fail .*has migration 900-of-tomorrow of a newer version/);
    const [former] = world.servers;
    await world.stop(0);
    await assert.rejects(world.start(0), (error: Error) => {
      assert.match(error.message, /ended with 1/);
      assert.match(error.message, /has migration 900-of-tomorrow of a newer version; this version knows those up to /);
      assert.match(error.message, /Start the newer version, or restore a dump \(pg_dump\) made with this one\./);
      return true;
    });
    await world.progress(20);
    await world.start(0, later);
    await world.progress(20);
    await world.unload();
    await world.check();
    assert.doesNotMatch(String(former?.said()), /"level":(50|60)/, 'the former version failed at nothing');
  });
});

/** Each answers, as another version, and has at once what the other one wrote. */
async function assertUnderstood(former: ServerProcess | undefined, later: ServerProcess): Promise<void> {
  assert.ok(former);
  const versions = await Promise.all([former, later].map((server) => mustCall(server, KEY, 'check_health')));
  assert.notEqual(versions[0]?.version, LATER);
  assert.equal(versions[1]?.version, LATER);
  for (const [writer, reader] of [
    [former, later],
    [later, former],
  ] as const) {
    assert.equal((await rest(writer, 'GET', '/readyz')).status, 200);
    const { id } = await mustCall(writer, KEY, 'create_skill', { name: `skill-${Math.random()}`, instructions: 'x' });
    await mustCall(reader, KEY, 'update_skill', { id, instructions: 'y' });
    assert.equal((await mustCall(writer, KEY, 'get_skill', { id })).instructions, 'y');
    await mustCall(reader, KEY, 'delete_skill', { id });
  }
  await assertKept(former, later);
}

/** A field that the former version does not know stays in records that it changes and restores. */
async function assertKept(former: ServerProcess, later: ServerProcess): Promise<void> {
  const ofTomorrow = 'kept';
  const name = `skill-${Math.random()}`;
  const { id } = await mustCall(later, KEY, 'create_skill', { name, instructions: 'x', ofTomorrow });
  assert.equal((await mustCall(former, KEY, 'get_skill', { id })).instructions, 'x');
  await mustCall(former, KEY, 'update_skill', { id, instructions: 'y' });
  const inLater = async () => (await mustCall(later, KEY, 'get_skill', { id })).ofTomorrow;
  assert.equal(await inLater(), ofTomorrow);
  const { data } = await mustCall(former, KEY, 'list_versions', { entityType: 'skill', entityId: id });
  const versionId = data.at(-1)?.id;
  await mustCall(former, KEY, 'restore_version', { entityType: 'skill', entityId: id, versionId });
  assert.equal(await inLater(), ofTomorrow);
  await mustCall(later, KEY, 'delete_skill', { id });
}
