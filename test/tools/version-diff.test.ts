import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalize } from 'json-canonicalize';
import { diffStates } from '../../tools/versions/diff.ts';
import { callsOf } from '../support/calls.ts';
import { rounds } from '../support/full.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must } = callsOf(server);

type Json = fc.JsonValue;
type Payload = Record<string, Json>;

const name = fc.constantFrom('a', 'b', 'constructor', 'toString', '_t', '_0', '~/', 'id', 'name');
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 0, 1, true, '', 'x'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

const membersDiff = (from: Payload, to: Payload) => diffStates({ members: from }, { members: to });

/** The state after the changes, for a state without arrays. */
function changed(from: Payload, changes: readonly { path: string; before?: unknown; after?: unknown }[]): Payload {
  const to = structuredClone(from);
  for (const { path, ...change } of changes) {
    const names = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = names.pop() ?? '';
    const holder = names.reduce((at, part) => at[part] as Payload, to);
    assert.equal(Object.hasOwn(holder, last), 'before' in change, path);
    if ('after' in change) holder[last] = change.after as Json;
    else delete holder[last];
  }
  return to;
}

describe('the diff of two payloads', () => {
  const members = fc.dictionary(name, json, { maxKeys: 4, noNullPrototype: true });

  it('is empty where they are the same and nowhere else', () => {
    fc.assert(
      fc.property(members, members, (from, to) => {
        const { changes = [] } = membersDiff(from, to);
        assert.equal(changes.length === 0, canonicalize(from) === canonicalize(to));
        assert.deepEqual(membersDiff(from, structuredClone(from)).changes, []);
      }),
      { numRuns: rounds(300, 2000) },
    );
  });

  it('leads from one to the other', () => {
    const plain = members.filter((payload) => !JSON.stringify(payload).includes('['));
    fc.assert(
      fc.property(plain, plain, (from, to) => {
        assert.deepEqual(changed(from, membersDiff(from, to).changes ?? []), to);
      }),
      { numRuns: rounds(300, 2000) },
    );
  });

  it('shows a long array that is all new as one change, and one with few changes item by item', async () => {
    const columns = [{ name: 'j', type: 'json' }];
    const { id: databaseId } = await must('create_database', { name: 'long', columns });
    const numbers = Array.from({ length: 9000 }, (_, at) => at);
    const lists = [numbers, numbers.with(5000, -1), numbers.map((number) => -number - 2)];
    const { id } = await must('create_record', { databaseId, values: { j: lists[0] } });
    for (const j of lists.slice(1)) await must('update_record', { databaseId, id, values: { j } });
    const place = { entityType: 'database-record', entityId: id };
    const { data } = await must('list_versions', place);
    const [last, middle] = await Promise.all(
      [data[0], data[1]].map((version) => must('diff_version', { ...place, versionId: version.id })),
    );
    assert.deepEqual(middle.changes, [
      { path: '/values/j/5000', after: -1 },
      { path: '/values/j/5000', before: 5000 },
    ]);
    assert.deepEqual(last.changes, [{ path: '/values/j', before: lists[1], after: lists[2] }]);
  });

  it('of a text has its last line, whether or not that ends', () => {
    const linesOf = (from: string, to: string) =>
      diffStates({ text: from, members: {} }, { text: to, members: {} }).lines?.map(
        ({ op, value }) => `${op} ${value}`,
      );
    assert.deepEqual(linesOf('a\nb', 'a\nc'), ['equal a', 'remove b', 'add c']);
    assert.deepEqual(linesOf('a\nb\n', 'a\nc\n'), ['equal a', 'remove b', 'add c']);
  });

  it('tells an item of a long array from others, wherever it is', () => {
    const items = Array.from({ length: 9000 }, (_, at) => ({ id: at, x: 1 }));
    for (const at of [0, 4500, 8999]) {
      const { changes } = membersDiff({ items }, { items: items.with(at, { id: at, x: 2 }) });
      assert.deepEqual(changes, [{ path: `/items/${at}/x`, before: 1, after: 2 }]);
      const removed = membersDiff({ items }, { items: items.toSpliced(at, 1) });
      assert.deepEqual(removed.changes, [{ path: `/items/${at}`, before: { id: at, x: 1 } }]);
    }
  });

  it('of two large documents is bounded, is made apart, and says what is not in it', async () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => `l${at}`);
    const first = lines.join('\n').slice(0, 499_000);
    const { id } = await must('create_document', { title: 'large', content: first });
    await must('update_document', { id, content: first.replace('l50000', 'changed') });
    await must('update_document', { id, content: first.replaceAll('l', 'm') });
    const place = { entityType: 'document', entityId: id };
    const newest = await must('list_versions', place);
    const before = await must('list_versions', { ...place, cursor: newest.nextCursor });
    const [last, middle] = await Promise.all(
      [newest, before].map(({ data }) => must('diff_version', { ...place, versionId: data[0].id })),
    );
    const count = first.split('\n').length;
    assert.equal(middle.lines.length, 8, JSON.stringify(middle).slice(0, 500));
    assert.deepEqual(middle.leftOut, { equalLines: count - 7, lines: 0, values: 0, changes: 0 });
    assert.ok(JSON.stringify(last).length <= 1024 * 1024 + 200);
    assert.equal(last.lines.length + last.leftOut.lines + last.leftOut.equalLines, 2 * count);
  });

  it('keeps the paths of changes whose values do not fit', () => {
    const from = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`m${at}`, 'x'.repeat(100_000)]));
    const to = Object.fromEntries(Object.keys(from).map((member) => [member, 'y'.repeat(100_000)]));
    const { changes = [], leftOut } = membersDiff(from, to);
    assert.equal(changes.length, 10);
    assert.equal(changes.filter((change) => 'before' in change).length, 5);
    assert.deepEqual(leftOut, { equalLines: 0, lines: 0, values: 5, changes: 0 });
    const long = Object.fromEntries(
      Array.from({ length: 110 }, (_, at) => [`${at}`.padEnd(5000, 'n'), 'x'.repeat(5000)]),
    );
    assert.equal(membersDiff({}, long).leftOut?.values, 11, 'what the paths take is counted once');
    const many = Object.fromEntries(Array.from({ length: 80_000 }, (_, at) => [`member ${at}`, at]));
    const cut = membersDiff({}, many);
    assert.ok(JSON.stringify(cut).length <= 1024 * 1024 + 200);
    assert.equal((cut.changes?.length ?? 0) + (cut.leftOut?.changes ?? 0), 80_000);
  });

  it('shows texts that take too long to compare as all removed and all added', () => {
    const lines = (word: string) => Array.from({ length: 30_000 }, (_, at) => `${word} ${at}`);
    const [from, to] = [lines('a'), lines('b')];
    const {
      kind,
      lines: shown = [],
      leftOut,
    } = diffStates({ text: from.join('\n'), members: {} }, { text: to.join('\n'), members: {} });
    assert.equal(kind, 'text');
    const expected = [...from.map((value) => ({ op: 'remove', value })), ...to.map((value) => ({ op: 'add', value }))];
    assert.equal(shown.length + (leftOut?.lines ?? 0), expected.length);
    assert.deepEqual(shown, expected.slice(0, shown.length));
    assert.ok(shown.length > from.length);
  });

  it('compares the members alone where one of the states has no text', () => {
    const [written, without] = [{ text: 'a', members: {} }, { members: { b: 1 } }];
    assert.deepEqual(diffStates(written, without), { kind: 'json', changes: [{ path: '/b', after: 1 }] });
    assert.deepEqual(diffStates(without, written), { kind: 'json', changes: [{ path: '/b', before: 1 }] });
  });

  it('of a text and other members that are both too large has something of both', () => {
    const text = Array.from({ length: 40_000 }, (_, at) => `line ${at}`).join('\n');
    const members = (value: string) =>
      Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`m${at}`, value.repeat(40_000)]));
    const cut = diffStates({ text: '', members: members('a') }, { text, members: members('b') });
    const size = JSON.stringify(cut).length;
    assert.ok(size <= 1024 * 1024 + 200 && size > 1024 * 1024 - 80_000, `${size}`);
    assert.deepEqual([cut.changes?.length, cut.leftOut?.changes], [20, 0]);
    const whole = cut.changes?.filter((change) => 'before' in change && 'after' in change).length ?? 0;
    assert.deepEqual([whole, cut.leftOut?.values], [6, 14], 'half of the room is for members');
    assert.equal((cut.lines?.length ?? 0) + (cut.leftOut?.lines ?? 0), 40_000);
    assert.equal(cut.leftOut?.equalLines, 0);
  });
});
