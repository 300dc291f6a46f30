import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PassageFinder } from '../../tools/documents/find-passages.ts';
import { passagesOf } from '../../tools/documents/passages.ts';
import { callsOf, makeKey } from '../support/calls.ts';
import { fc } from '../support/property.ts';
import { startTestServer } from '../support/server.ts';

const paragraph = (about: string, sentences = 12) =>
  Array.from({ length: sentences }, (_, n) => `Sentence ${n} of this paragraph tells about ${about}.`).join(' ');

const server = await startTestServer();
const { must, refused, call } = callsOf(server);
const { id: projectId } = await must('create_project', { name: 'Travel' });
const content = `# Travel\n\n${paragraph('trains')}\n\n## Reimbursement\n\nHand in receipts within 30 days of the trip.\n\n## Flights\n\n${paragraph('flights', 60)}`;
const travel = await must('create_document', { title: 'Travel policy', content, projectId, tags: ['policy'] });
const leave = await must('create_document', {
  title: 'Parental leave',
  content: '## Duration\n\nSixteen weeks, to be taken within the first year.',
});
const found = async (q: string, input: object = {}) => (await must('search_passages', { q, ...input })).data;

describe('passages', () => {
  it('are the parts under each heading, with the headings above them', () => {
    const text = '# One\n\nfirst\n\n## Two\nsecond\n### Three ###\n\nthird\n\n## Four\n\nfourth\n';
    const parts = passagesOf(text).map(({ path, text }) => [path.join(' > '), text]);
    assert.deepEqual(parts, [
      ['One', 'first'],
      ['One > Two', 'second'],
      ['One > Two > Three', 'third'],
      ['One > Four', 'fourth'],
    ]);
  });

  it('end between paragraphs, and inside one only where it is too long', () => {
    const [one, two] = [paragraph('birds'), paragraph('fish')];
    assert.deepEqual(
      passagesOf(`${one}\n\n${two}\n\nshort\n\nshorter`).map(({ text }) => text),
      [one, `${two}\n\nshort\n\nshorter`],
    );
    const long = passagesOf(paragraph('whales', 100));
    assert.ok(long.length > 3);
    for (const { text } of long) assert.match(text.trim(), /^Sentence .*whales\.$/);
  });

  it('take no comment in code for a heading', () => {
    const code = '```sh\n# not a heading\n\nnpm start\n```';
    assert.deepEqual(passagesOf(`# Start\n${code}\n# End\nx`), [
      { path: ['Start'], offset: 8, text: code },
      { path: ['End'], offset: 8 + code.length + 7, text: 'x' },
    ]);
  });

  it('lose nothing of any text but headings and white space, stay in order and are short', () => {
    const line = fc.oneof(
      fc.constantFrom('', '# a', '## b', '```', '~~~~', '| a | b |', '- item', '\r', '\t'),
      fc.string({ unit: 'binary', maxLength: 100 }),
      fc.nat({ max: 4000 }).map((length) => 'x'.repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const text = lines.join('\n');
        let end = 0;
        for (const passage of passagesOf(text)) {
          const between = text.slice(end, passage.offset).split('\n');
          for (const skipped of between) assert.match(skipped, /^\s*$|^ {0,3}#{1,6}[ \t]/);
          assert.equal(text.slice(passage.offset, passage.offset + passage.text.length), passage.text);
          assert.ok(passage.text.length <= 1600 && passage.text !== '');
          end = passage.offset + passage.text.length;
        }
        for (const skipped of text.slice(end).split('\n')) assert.match(skipped, /^\s*$|^ {0,3}#{1,6}[ \t]/);
      }),
    );
  });
});

describe('search_passages', () => {
  it('answers the passage, its place and its document', async () => {
    const [best] = await found('When must receipts be handed in to be reimbursed?');
    const { score, ...passage } = best;
    assert.deepEqual(passage, {
      documentId: travel.id,
      revision: 1,
      title: 'Travel policy',
      path: 'Travel > Reimbursement',
      offset: content.indexOf('Hand in'),
      text: 'Hand in receipts within 30 days of the trip.',
    });
    assert.ok(score > 0 && score <= 1);
  });

  it('finds other forms of a word, beginnings and misspelt words', async () => {
    for (const q of ['reimbursing', 'reimb', 'reimbursemnet']) {
      assert.equal((await found(q))[0]?.path, 'Travel > Reimbursement', q);
    }
  });

  it('finds words with a letter too much, too few, another or two swapped, beside other words too', async () => {
    const { id } = await must('create_document', {
      title: 'Money',
      content:
        '# Travel money\n\nClaim expenses with receipts; mileage is paid by distance. Connect by WireGuard. Vacation is paid.',
    });
    const right: [string, string][] = [];
    for (const q of ['expnses', 'reciepts', 'reciept', 'milage', 'wiregard', 'vacaton', 'vacatoin', 'expnses train']) {
      const all = await found(q, { limit: 50 });
      if (all.some(({ documentId }: { documentId: string }) => documentId === id)) continue;
      right.push([q, all.length]);
    }
    await must('delete_document', { id });
    assert.deepEqual(right, []);
  });

  it('is what the search of all kinds shows of a document', async () => {
    const { data } = await must('search', { q: 'receipts', types: ['document'] });
    assert.equal(data[0].snippet, 'Hand in receipts within 30 days of the trip.');
    const offset = content.indexOf('Hand in');
    assert.deepEqual(data[0].passage, { revision: 1, path: 'Travel > Reimbursement', offset });
  });

  it('marks what hardly fits, and finds nothing for nonsense', async () => {
    const [best] = await found('warranty of espresso machines within Antarctica bases');
    assert.ok(best === undefined || best.weak);
    assert.deepEqual(await found('zzxqj vvkpw'), []);
    assert.equal((await found('weeks of parental leave'))[0].weak, undefined);
  });

  it('looks in documents of a project, with a tag or of a list alone', async () => {
    const ids = async (input: object) => [
      ...new Set(
        (await found('days weeks', { limit: 50, ...input })).map((each: { documentId: string }) => each.documentId),
      ),
    ];
    assert.deepEqual((await ids({})).sort(), [leave.id, travel.id].sort());
    assert.deepEqual(await ids({ projectId }), [travel.id]);
    assert.deepEqual(await ids({ tags: ['policy', 'other'] }), [travel.id]);
    assert.deepEqual(await ids({ documentIds: [leave.id] }), [leave.id]);
  });

  it('does not take a document or project that is not there, or is hidden, for one without an answer', async () => {
    const none = { documentIds: [leave.id, 'doc_none'] };
    assert.match(
      (await refused('search_passages', { q: 'days', ...none })).error,
      /no document doc_none .*list_documents/,
    );
    assert.match(
      (await refused('search_passages', { q: 'days', projectId: 'prj_none' })).error,
      /prj_none .*list_projects/,
    );
    const { id: empty } = await must('create_project', { name: 'Empty' });
    assert.deepEqual(await found('days', { projectId: empty }), []);
    const [ofLeave, ofTravel] = [
      await makeKey(server, { grants: [`document:read:${leave.id}`] }),
      await makeKey(server, { grants: [`document:read:${travel.id}`] }),
    ];
    const code = async (key: string, named: object) => {
      const answer = await call('search_passages', { q: 'days weeks', ...named }, key);
      return 'error' in answer ? answer.error.code : 'ok';
    };
    assert.deepEqual(
      await Promise.all([
        ...[code(ofLeave, { documentIds: [leave.id] }), code(ofLeave, { documentIds: [travel.id] })],
        ...[code(ofTravel, { projectId }), code(ofLeave, { projectId }), code(ofTravel, { projectId: empty })],
      ]),
      ['ok', 'not_found', 'ok', 'not_found', 'not_found'],
      'a project is known by its documents too',
    );
  });

  it('finds a change once it is answered, and no longer what was there', async () => {
    const { id } = await must('create_document', { title: 'Notes', content: 'The codeword is albatross.' });
    assert.equal((await found('albatross'))[0].documentId, id);
    await must('update_document', { id, content: 'The codeword is cormorant.' });
    assert.deepEqual(await found('albatross'), []);
    assert.equal((await found('cormorant'))[0].revision, 2);
    await must('delete_document', { id });
    assert.deepEqual(await found('cormorant'), []);
  });

  it('shows those with grants for some documents these alone, and their scores depend on nothing else', async () => {
    const key = await makeKey(server, { grants: [`document:read:${leave.id}`] });
    const asked = async () => await call('search_passages', { q: 'days weeks receipts' }, key);
    const before = JSON.stringify(await asked());
    assert.match(before, new RegExp(leave.id));
    assert.doesNotMatch(before, new RegExp(travel.id));
    await must('create_document', { title: 'Weeks', content: 'days weeks receipts' });
    assert.equal(JSON.stringify(await asked()), before);
  });

  it('is read on by get_document', async () => {
    const { offset } = (await found('flights'))[0];
    const around = await must('get_document', { id: travel.id, around: offset, limit: 400 });
    assert.equal(around.content, content.slice(offset - 200, offset + 200));
    assert.deepEqual(around.part, { offset: offset - 200, total: content.length, nextOffset: offset + 200 });
    let read = '';
    for (let next: number | null = 0; next !== null; ) {
      const part: { content: string; part: { nextOffset: number | null } } = await must('get_document', {
        id: travel.id,
        offset: next,
        limit: 700,
      });
      read += part.content;
      next = part.part.nextOffset;
    }
    assert.equal(read, content);
    const { id } = await must('create_document', { title: 'signs', content: 'a😀😀b' });
    const parts: string[] = [];
    for (let next: number | null = 0; next !== null; ) {
      const { content: text, part } = await must('get_document', { id, offset: next, limit: 2 });
      parts.push(text);
      next = part.nextOffset;
    }
    assert.deepEqual(parts, ['a😀', '😀', 'b']);
    assert.equal((await must('get_document', { id: travel.id })).part, undefined);
    const { issues } = await refused('get_document', { id: travel.id, offset: 1, around: 1 });
    assert.equal(issues?.[0]?.path, 'around');
  });

  it('compares a million characters at most, and lets others have their turn meanwhile', async () => {
    let turns = 0;
    const count = () => {
      turns += 1;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const documents = [420_000, 420_000, 420_000].map((length, n) => ({
      id: `doc_${n}`,
      state: '1',
      title: 'long',
      content: `${'tariff '.repeat(length / 7)}last${n}`,
    }));
    const finder = new PassageFinder();
    const compared = new Set((await finder.find(documents, 'tariff')).map(({ source }) => source.id));
    clearImmediate(timer);
    assert.deepEqual([...compared].sort(), ['doc_0', 'doc_1']);
    assert.ok(turns > 1);
  });
});
