import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pluck } from '../support/pluck.ts';
import { pythonLacks, runPython } from '../support/python.ts';
import { unlike } from './common-patterns.ts';
import { patternsIn, publishedSchemas, textsUnder } from './published-schemas.ts';

/** Formats that every reader knows, takes alike, and that hold for every value there can be. */
const FORMATS = ['date-time', 'date'];

const ALIKE = ['^agt_[0-9a-z]{26}', '[A-Za-z_][A-Za-z0-9_.-]', 'a|b(?:c+?|d{2,1000})', '^\\x41\\.\\-[\\]\\t]', 'é—☃'];
const UNLIKE = [
  ...[
    ...['\\p{L}', '[^\\p{Cc}]', '\\d', '\\w+', '[\\w.-]', '\\s', '\\bx', 'a$', 'a.b', '[^a]', '\\u200b'],
    ...['a(?=b)', '(?!a)', '(?<=a)b'],
  ],
  ...[
    ...['(?<n>a)', '(?P<n>a)', '(a)\\1', 'a{1001}', 'a{2,5000}', 'a{,3}', 'x**', 'a++', '(?i)a', '[[a]]'],
    ...['[a&&b]', '[a--b]', '😀', '[😀]'],
  ],
  ...['a{2}{3}', '(', '*', '\\Aa', '\\Z', '[b-a]', '\\cA', '\\0', '[]a]'],
];

describe('patterns and formats of published schemas', () => {
  it('are read alike by ECMAScript without flags, Python and RE2', () => {
    const found = publishedSchemas().flatMap(({ title, schema }) =>
      patternsIn(schema).map(({ place, text }) => ({ place: `${title}${place}: ${text}`, why: unlike(text) })),
    );
    assert.deepEqual(
      found.filter(({ why }) => why).map(({ place, why }) => `${place}: ${why}`),
      [],
    );
  });

  it('name no format but those that hold for every value', () => {
    const found = publishedSchemas().flatMap(({ title, schema }) =>
      textsUnder('format', schema).map(({ place, text }) => ({ place: `${title}${place}: ${text}`, text })),
    );
    assert.deepEqual(
      pluck(
        found.filter(({ text }) => !FORMATS.includes(text)),
        'place',
      ),
      [],
    );
    assert.ok(found.length > 100);
  });
});

describe('the common subset of patterns', () => {
  it('has what all three read alike, and nothing else', () => {
    assert.deepEqual(
      ALIKE.map(unlike),
      ALIKE.map(() => undefined),
    );
    assert.deepEqual(
      UNLIKE.filter((pattern) => unlike(pattern) === undefined),
      [],
    );
  });

  it('matches the same texts in Python', { skip: pythonLacks('re') ?? false }, async () => {
    const texts = [
      ...ALIKE,
      ...UNLIKE,
      'agt_00000000000000000000000000',
      'a_',
      'acc',
      'bdd',
      'A.-\t',
      'x é—☃\n',
      '٣',
      '',
    ];
    const program =
      'import json,re,sys\np,t=json.load(sys.stdin)\nprint(json.dumps([[bool(re.search(x,y)) for y in t] for x in p]))';
    const here = ALIKE.map((pattern) => texts.map((text) => new RegExp(pattern).test(text)));
    assert.deepEqual(await runPython(program, [ALIKE, texts]), here);
    assert.ok(here.every((row) => row.includes(true) && row.includes(false)));
  });
});
