import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { importedRows } from '../../resources/imported-rows.ts';
import { catalog } from '../../tools/catalog.ts';
import { unwrap } from '../../tools/core/registry/validate.ts';

interface Text {
  readonly place: string;
  readonly schema: z.ZodType;
}

function textsIn(schema: unknown, place: string): Text[] {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodString || inner instanceof z.ZodStringFormat) return [{ place, schema: inner }];
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape).flatMap(([name, member]) => textsIn(member, `${place}.${name}`));
  }
  if (inner instanceof z.ZodArray) return textsIn(inner.element, `${place}[]`);
  if (inner instanceof z.ZodRecord) return textsIn(inner.valueType, `${place}{}`);
  if (inner instanceof z.ZodUnion) return inner.options.flatMap((option) => textsIn(option, place));
  return [];
}

const writing = catalog.entries
  .filter(({ tool }) => !tool.annotations.readOnlyHint)
  .flatMap(({ tool }) => textsIn(tool.input, tool.name));
const accepts = ({ schema }: Text, value: string) => schema.safeParse(value).success;
const CONTROLS = ['a\u0007b', 'a\nb', 'a\u001b[31mb', 'a\u202eb', 'a\u2028b'];

const PROSE =
  /\.(description|bio|signature|content|instructions|prompt|input|message|body|query\{\}|query\{\}\[\]|text|markdown|messages\[\]\.content|promptSections\{\}|data)$/;
/** Inputs that name something existing, or are looked up or compared as they are, and are never kept as a label. */
const REFERENCES =
  /([iI]ds?(\[\])?|agent|model|modelPreference|fallbackModels\[\]|defaultModel|tools?(\[\])?|Tools\[\]|idToken|scopes\[\]|grants\[\]|askFirst\[\]|call_tool\.name|\.continue|renameColumns\[\]\.from|trigger\.(type|expression|timezone)|timezone|listingHash|supersedes|email|steps\[\]\.when|analytics\.(activityEvents\[\]|features\{\}\[\]|funnel\[\]))$/;
/** The parts of programs that an operator runs. */
const PROGRAMS = /_integration\.(command|args\[\]|env\{\}|headers\{\})$/;

/** Names that ids and arguments are made of. */
const IDENTIFIERS = /^(create_connection|(create|update)_model_provider)\.name$/;

describe('texts that callers write', () => {
  it('of one line hold no control characters, line breaks or marks that turn the writing round', () => {
    const lines = writing.filter(({ place }) => ![PROSE, REFERENCES, PROGRAMS].some((others) => others.test(place)));
    assert.ok(lines.length > 50);
    for (const text of lines) {
      const accepted = CONTROLS.filter((value) => accepts(text, value));
      assert.deepEqual(accepted, [], text.place);
    }
    const names = lines.filter(
      ({ place }) => /\.(name|title|displayName|workspaceName)$/.test(place) && !IDENTIFIERS.test(place),
    );
    assert.ok(names.length > 20);
    for (const text of names)
      assert.ok(accepts(text, text.place.includes('olumns') ? 'name' : 'Zoë 👩‍🚀 & Co. (नमस्ते)'), text.place);
  });

  it('that are addresses of pages are http or https alone', () => {
    const rows = Object.entries(importedRows).flatMap(([type, { schema }]) =>
      textsIn(schema, `import_records.${type}`),
    );
    const addresses = [...writing, ...rows].filter(({ place }) => /(url|uri|link|href)$/i.test(place));
    assert.ok(addresses.length >= 7, String(addresses.length));
    const bad = [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      ' javascript:alert(1)',
      'java\nscript:alert(1)',
      'data:text/html,x',
    ];
    for (const text of addresses) {
      const accepted = [...bad, 'ftp://example.com', 'vbscript:x', 'file:///etc/passwd', '//example.com', 'x'].filter(
        (value) => accepts(text, value),
      );
      assert.deepEqual(accepted, [], text.place);
      // Paths are added to some.
      const pages = /_connection\.(baseUrl|auth\.tokenUrl)$/.test(text.place) ? [] : ['https://example.com/a?b=c#d'];
      for (const url of [...pages, 'http://example.com:8080']) assert.ok(accepts(text, url), text.place);
    }
    for (const text of rows.filter(({ place }) => /\.(page|referrer)$/.test(place))) {
      assert.deepEqual(
        [...bad, 'data:x'].filter((value) => value !== 'java\nscript:alert(1)' && accepts(text, value)),
        [],
        text.place,
      );
      for (const value of ['/pricing', 'https://example.com', 'android-app://com.example'])
        assert.ok(accepts(text, value));
    }
  });
});
