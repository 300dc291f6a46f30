import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { guessed, mappedRows, membersOf, OTHER_WORDS } from '../../../facade/dashboard/pages/import/mapping.ts';
import { NUMBER_MEMBERS, rowsOf } from '../../../facade/dashboard/pages/import/rows.ts';
import { importedRows } from '../../../resources/imported-rows.ts';
import { importRecords } from '../../../tools/analytics/import-records.ts';
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

  it('reads CSV with quotes, and the cells of its columns as the members that they become', async () => {
    const text = '\uFEFFid,plan,amount,note\r\ns1,"a ""b"", c",1200,\r\n\r\ns2,d,x,e\r\n';
    const rows = await rowsOf(new File([text], 'subscriptions.csv'));
    const same = new Map(['id', 'plan', 'amount', 'note'].map((name) => [name, name]));
    assert.deepEqual(mappedRows(rows, same), [
      { line: 2, row: { id: 's1', plan: 'a "b", c', amount: 1200 } },
      { line: 4, row: { id: 's2', plan: 'd', amount: 'x', note: 'e' } },
    ]);
    assert.deepEqual(mappedRows(rows, new Map([['note', 'tax']])), [
      { line: 2, row: {} },
      { line: 4, row: { tax: 'e' } },
    ]);
  });

  it('guesses what the columns of other systems become, each member once', () => {
    const { description } = importRecords.input.shape.records;
    const members = membersOf(description, 'users');
    assert.deepEqual(members.slice(0, 4), [
      { name: 'uid', needed: true },
      { name: 'email', needed: true },
      { name: 'status', needed: true },
      { name: 'name', needed: false },
    ]);
    assert.deepEqual(
      guessed(['User ID', 'E-Mail', 'Plan', 'Full name', 'created_at', 'Created', 'shoe size'], members),
      new Map([
        ['E-Mail', 'email'],
        ['created_at', 'createdAt'],
        ['User ID', 'uid'],
        ['Plan', 'status'],
        ['Full name', 'name'],
      ]),
    );
    const known = Object.values(importedRows).flatMap(({ schema }) => Object.keys(schema.shape));
    for (const type of Object.keys(importedRows)) assert.notEqual(membersOf(description, type).length, 0, type);
    for (const member of Object.keys(OTHER_WORDS)) assert.ok(known.includes(member), member);
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
