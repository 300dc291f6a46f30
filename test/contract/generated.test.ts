import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { generated } from './generated-files.ts';

describe('generated files', () => {
  for (const { path, text } of generated()) {
    it(`${path} is current (npm run generate)`, () => {
      assert.equal(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), text);
    });
  }
});
