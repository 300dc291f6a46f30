import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgesLack } from '../support/judges.ts';
import { type Document, documentOf } from './openapi-document.ts';
import { documentJudges } from './openapi-judges.ts';

/** What each must find, so that it is known to look: an edit of the document, and what is then said. */
const PLANTED: Readonly<Record<string, readonly (readonly [edit: (document: Document) => void, said: RegExp])[]>> = {
  '@redocly/cli': [
    [giveWrongExample, /no-invalid-media-type-examples/],
    [loseResponse, /no-unresolved-refs/],
  ],
  '@stoplight/spectral-cli': [
    [giveWrongExample, /oas3-valid-media-example/],
    [loseResponse, /invalid-ref/],
    [loseLimit, /api4:2023-string-limit/],
  ],
  '@seriousme/openapi-schema-validator': [[(document) => Object.assign(document, { tags: {} }), /\/tags/]],
};

for (const [name, judge] of Object.entries(documentJudges)) {
  describe(name, { skip: judgesLack(name) ?? false }, () => {
    it('finds nothing wrong with the document', async () => {
      assert.deepEqual(await judge(documentOf()), []);
    });

    it('finds what is planted', async () => {
      const planted = PLANTED[name] ?? assert.fail('Nothing is planted for it.');
      const document = documentOf();
      for (const [edit] of planted) edit(document);
      const found = (await judge(document)).join('\n');
      for (const [, said] of planted) assert.match(found, said);
    });
  });
}

function newAgent(document: Document) {
  return document.paths['/api/v1/agents']?.post?.requestBody?.content['application/json'] ?? assert.fail();
}

function giveWrongExample(document: Document): void {
  Object.assign(newAgent(document), { example: { name: 1 } });
}

function loseResponse(document: Document): void {
  delete document.components.responses?.Forbidden;
}

function loseLimit(document: Document): void {
  const { name } = newAgent(document).schema.properties as Record<string, object>; // of an object
  delete (name as { maxLength?: number }).maxLength;
}
