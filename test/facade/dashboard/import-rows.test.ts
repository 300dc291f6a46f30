import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { NUMBER_MEMBERS, rowsOf } from '../../../facade/dashboard/pages/import/rows.ts';
import { importedRows } from '../../../resources/imported-rows.ts';
import { unwrap } from '../../../tools/registry/validate.ts';

describe('the rows of a file in the browser', () => {
  it('knows every member that is a number', () => {
    const members = Object.values(importedRows).flatMap(({ schema }) => Object.entries(schema.shape));
    const numbers = members.filter(([, schema]) => unwrap(schema) instanceof z.ZodNumber).map(([name]) => name);
    const others = members.filter(([name]) => !numbers.includes(name)).map(([name]) => name);
    assert.deepEqual([...NUMBER_MEMBERS].sort(), [...new Set(numbers)].sort());
    assert.deepEqual(
      others.filter((name) => NUMBER_MEMBERS.has(name)),
      [],
    );
  });

  it('reads CSV with quotes, numbers and empty cells', async () => {
    const text = '\uFEFFid,plan,amount,note\r\ns1,"a ""b"", c",1200,\r\n\r\ns2,d,x,e\r\n';
    assert.deepEqual(await rowsOf(new File([text], 'subscriptions.csv')), [
      { line: 2, row: { id: 's1', plan: 'a "b", c', amount: 1200 } },
      { line: 4, row: { id: 's2', plan: 'd', amount: 'x', note: 'e' } },
    ]);
  });

  it('names the lines of NDJSON that are no objects', async () => {
    assert.deepEqual(await rowsOf(new File(['{"id": "e1"}\n\n[1]\n{'], 'events.ndjson')), [
      { line: 1, row: { id: 'e1' } },
      { line: 3, problem: 'The line is no JSON object.' },
      { line: 4, problem: 'The line is no JSON object.' },
    ]);
    await assert.rejects(rowsOf(new File([''], 'rows.txt')), /rows\.txt is neither/);
  });
});
