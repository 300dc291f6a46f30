import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findGuide } from '../../facade/guides/guides.ts';

/** Each allows use in a program of any licence; fonts (OFL) and whole files (MPL) stay under their own. */
const ACCEPTED = new Set([
  ...['MIT', 'MIT-0', 'ISC', '0BSD', 'BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Unlicense', 'Python-2.0'],
  ...['OFL-1.1', 'MPL-2.0', '(MIT AND Zlib)', '(MIT OR GPL-3.0-or-later)', '(AFL-2.1 OR BSD-3-Clause)'],
]);

describe('the packages that come with the server', () => {
  it('have licences that ask nothing of those who run it', () => {
    const { markdown = '' } = findGuide('reference-licences') ?? {};
    const rows = [...markdown.matchAll(/^\| (\S+) \| (\S+) \| (.+) \|$/gm)].filter(
      ([, name]) => !/^(package|---)$/.test(name ?? ''),
    );
    assert.ok(rows.length > 100);
    assert.deepEqual(
      rows.filter(([, , , licence = '']) => !ACCEPTED.has(licence)).map(([row]) => row),
      [],
    );
  });
});
