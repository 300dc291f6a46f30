import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitBody, limitEvents } from '../../../tools/core/outbound/limits.ts';
import { cleanText, Scrubber } from '../../../tools/core/outbound/untrusted-text.ts';
import { LineReader } from '../../../tools/integrations/upstream/stdio-transport.ts';
import { ENCODINGS } from '../../support/encodings.ts';
import { workMs } from '../../support/processor-time.ts';
import { anyCharacter, fc } from '../../support/property.ts';

const secret = fc.string({ minLength: 8, maxLength: 40, unit: 'grapheme-ascii' }).filter((text) => !/\s/.test(text));

describe('a scrubber', () => {
  it('takes a secret out of any text, in every form in which servers repeat what they were sent', () => {
    fc.assert(
      fc.property(secret, fc.string(), fc.string(), (hidden, before, after) => {
        const scrubber = new Scrubber([`Bearer ${hidden}`, 'short']);
        const forms = ENCODINGS.map((encode) => encode(hidden));
        for (const form of forms) {
          const told = scrubber.text(`${before}${form}${after}`);
          // It may stand in what was not secret, too.
          assert.ok(!told.includes(form) || before.includes(form) || after.includes(form), told);
          assert.match(told, /\[redacted\]/);
        }
        for (const encoding of ['base64', 'base64url'] as const) {
          const encoded = scrubber.text(Buffer.from(`${before}:${hidden}:${after}`).toString(encoding));
          assert.ok(!Buffer.from(encoded.replace('[redacted]', ''), encoding).toString().includes(hidden));
        }
      }),
    );
  });

  it('is without secrets that were sent later, too', () => {
    const sent = ['first-of-all-tokens'];
    const scrubber = new Scrubber(() => sent);
    assert.equal(scrubber.text('first-of-all-tokens second-of-all-tokens'), '[redacted] second-of-all-tokens');
    sent.push('second-of-all-tokens');
    assert.equal(scrubber.text('first-of-all-tokens second-of-all-tokens'), '[redacted] [redacted]');
  });

  it('reaches names and values at every depth, and leaves all else as it is', () => {
    const scrubber = new Scrubber(['hunter2hunter2']);
    const given = { hunter2hunter2: [{ deep: 'x hunter2hunter2 y', other: 1, short: 'short', none: null }] };
    assert.deepEqual(scrubber.json(given), {
      '[redacted]': [{ deep: 'x [redacted] y', other: 1, short: 'short', none: null }],
    });
    assert.deepEqual(scrubber.json({ nul: 'a\0b', half: 'a\ud800' }), { nul: 'a\ufffdb', half: 'a\ufffd' });
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    assert.throws(() => scrubber.json(deep), RangeError);
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: true }), (value) =>
        assert.deepEqual(new Scrubber([]).json(value), value),
      ),
    );
  });

  it('takes no longer for many secrets in many texts', () => {
    const scrubber = new Scrubber(Array.from({ length: 50 }, (_, index) => `secret number ${index} of many`));
    const took = workMs(() => {
      scrubber.json(Array.from({ length: 90_000 }, (_, index) => `some text ${index}`));
      scrubber.text('secret numbe'.repeat(100_000));
    });
    assert.ok(took < 5000, `${took} ms`);
  });
});

describe('cleaned text', () => {
  it('has no control and no invisible characters, and no more than so many', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, maxLength: 300 }),
        fc.integer({ min: 1, max: 100 }),
        (text, longest) => {
          const shown = cleanText(text, longest);
          assert.ok(shown.length <= longest && shown.isWellFormed());
          assert.doesNotMatch(shown.replace(/[\n\t]/g, ''), /[\p{Cc}\u200b\u202e\u2066\u{e0041}]/u);
        },
      ),
    );
  });
});

/** The text cut at these places. */
function chunksOf(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place));
}

async function* streamOf(chunks: readonly Buffer[]) {
  yield* chunks;
}

async function gathered(parts: AsyncIterable<Buffer>): Promise<string> {
  const all: Buffer[] = [];
  for await (const part of parts) all.push(part);
  return Buffer.concat(all).toString();
}

const cuts = fc.array(fc.nat(5000), { maxLength: 20 });
const sizes = fc.array(fc.nat(300), { minLength: 1, maxLength: 8 });

describe('what is read of a stream', () => {
  it('is each line as a message, however it comes in pieces; one that is too long is an error for whom it answers', () => {
    fc.assert(
      fc.property(sizes, cuts, (lengths, where) => {
        const lines = lengths.map(
          (length, id) => `{"result":{"text":"${'x'.repeat(length)}"},"jsonrpc":"2.0","id":${id}}`,
        );
        const reader = new LineReader(200);
        const messages = chunksOf(`${lines.join('\n')}\nnoise\n`, where).flatMap((chunk) => [...reader.read(chunk)]);
        const told = messages.map((message) =>
          'error' in message ? { id: message.id, code: message.error.code } : message,
        );
        assert.deepEqual(
          told,
          lines.map((line, id) => (line.length > 200 ? { id, code: -32_099 } : JSON.parse(line))),
        );
      }),
    );
  });

  it('is an error for whom a line answers also where it becomes too long in the middle of the id', () => {
    const line = `{"result":{"text":"${'x'.repeat(158)}"},"jsonrpc":"2.0","id":123}\n`;
    for (let cut = 0; cut <= line.length; cut += 1) {
      const reader = new LineReader(200);
      const chunks = [line.slice(0, cut), line.slice(cut)].map((part) => Buffer.from(part));
      const messages = chunks.flatMap((chunk) => [...reader.read(chunk)]);
      assert.deepEqual(
        messages.map((message) => 'id' in message && message.id),
        [123],
        `cut at ${cut}`,
      );
    }
  });

  it('is each event whole, however it comes in pieces, and nothing more once one is too large', async () => {
    const eol = fc.constantFrom('\n', '\r\n');
    await fc.assert(
      fc.asyncProperty(sizes, cuts, eol, async (lengths, where, end) => {
        const events = lengths.map((length) => `data: ${'x'.repeat(length)}${end}${end}`);
        const large = events.findIndex((event) => event.length > 200);
        const instead = (fault: string) => fault;
        const read = await gathered(limitEvents(streamOf(chunksOf(events.join(''), where)), 200, instead));
        const whole =
          large < 0 ? events.join('') : `${events.slice(0, large).join('')}event: message\ndata: too_large\n\n`;
        assert.equal(read, whole);
      }),
    );
  });

  it('is a body, or what stands for it', async () => {
    const chunks = chunksOf('x'.repeat(300), [10, 100]);
    assert.equal(await gathered(limitBody(streamOf(chunks), 300, () => 'instead')), 'x'.repeat(300));
    assert.equal(await gathered(limitBody(streamOf(chunks), 299, () => 'instead')), 'instead');
    await assert.rejects(gathered(limitBody(streamOf(chunks), 299, () => undefined)), /larger than 299/);
  });

  it('says where it was cut off', async () => {
    async function* broken() {
      yield Buffer.from('data: 1\n\ndata: 2');
      throw new Error('reset');
    }
    assert.equal(
      await gathered(limitEvents(broken(), 200, (fault) => fault)),
      'data: 1\n\nevent: message\ndata: broken\n\n',
    );
    await assert.rejects(gathered(limitEvents(broken(), 200, () => undefined)), /reset/);
    await assert.rejects(gathered(limitBody(broken(), 200, () => 'instead')), /reset/);
  });
});
