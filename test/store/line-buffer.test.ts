import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LineBuffer } from '../../store/lowdb/files/line-buffer.ts';
import { sealLine } from '../../store/lowdb/journal/line.ts';
import { fc } from '../support/property.ts';

const line = fc.record({ label: fc.stringMatching(/^[0-9.-]{1,20}$/), json: fc.string({ unit: 'grapheme' }) });

describe('LineBuffer', () => {
  it('holds the bytes of sealed lines, whatever their characters, while the first ones are dropped', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(line, fc.boolean()), { maxLength: 50 }), (steps) => {
        const buffer = new LineBuffer();
        let expected: Buffer[] = [];
        for (const [{ label, json }, drops] of steps) {
          const sealed = Buffer.from(sealLine(label, json.replace(/\n/g, ' '), 0).text);
          assert.equal(buffer.add(label, json.replace(/\n/g, ' ')), sealed.length);
          expected.push(sealed);
          if (drops) buffer.drop(expected[0]?.length ?? 0);
          if (drops) expected = expected.slice(1);
          const all = Buffer.concat(expected);
          assert.deepEqual(buffer.slice(0, all.length), all);
        }
      }),
    );
  });

  it('grows with lines that wait, and what it handed out before stays as it was', () => {
    const buffer = new LineBuffer();
    const first = buffer.slice(0, buffer.add('-', '"ä€😀"'));
    const before = Buffer.from(first);
    const lengths = Array.from({ length: 2000 }, (_, n) => buffer.add(`${n}.0`, JSON.stringify('€'.repeat(n))));
    assert.deepEqual(first, before);
    const from = first.length + lengths.slice(0, 1234).reduce((sum, length) => sum + length, 0);
    const { text } = sealLine('1234.0', JSON.stringify('€'.repeat(1234)), 0);
    assert.equal(buffer.slice(from, from + (lengths[1234] ?? 0)).toString(), text);
    buffer.drop(from);
    assert.equal(buffer.slice(0, lengths[1234] ?? 0).toString(), text);
  });

  it('has room for a line of the longest characters that is longer than all before', () => {
    const buffer = new LineBuffer();
    for (const length of [10, 50_000, 200_000]) {
      const { text } = sealLine('12345678', '€'.repeat(length), 0);
      assert.equal(buffer.add('12345678', '€'.repeat(length)), Buffer.byteLength(text));
      assert.equal(buffer.slice(0, Buffer.byteLength(text)).toString(), text);
      buffer.drop(Buffer.byteLength(text));
    }
  });

  it('holds little memory while nothing waits, and keeps what it has while something does', () => {
    const MIB = 1024 * 1024;
    const buffer = new LineBuffer();
    const held = () => buffer.slice(0, 0).buffer.byteLength;
    assert.equal(held(), 64 * 1024);
    const long = buffer.add('1', 'x'.repeat(MIB));
    const short = buffer.add('2', 'y');
    assert.ok(held() >= 3 * MIB);
    buffer.drop(long);
    assert.ok(held() >= 3 * MIB);
    assert.equal(buffer.slice(0, short).toString(), sealLine('2', 'y', 0).text);
    buffer.drop(short);
    assert.equal(held(), 64 * 1024);
    buffer.drop(buffer.add('3', 'z'.repeat(200_000)));
    assert.ok(held() > 200_000 && held() <= MIB, 'a buffer of usual size is used again');
  });
});
