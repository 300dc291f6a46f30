import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { presets } from '../../../facade/commands/import/presets.ts';
import {
  CHOICES,
  fittingPresets,
  guessed,
  lacksOf,
  mappedRows,
  membersOf,
  NUMBER_MEMBERS,
  OTHER_WORDS,
  presetRows,
  rowsOf,
} from '../../../facade/dashboard/pages/import/rows.ts';
import { importedRows } from '../../../resources/imported-rows.ts';
import { importRecords } from '../../../tools/analytics/import-records.ts';
import { unwrap } from '../../../tools/core/registry/validate.ts';

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

  it('knows the values of every required member that has few, and gives one to all rows', () => {
    const choices = Object.entries(importedRows).flatMap(([type, { schema }]) =>
      Object.entries(schema.shape).flatMap(([name, member]) =>
        member instanceof z.ZodEnum ? [[`${type}.${name}`, member.options] as const] : [],
      ),
    );
    assert.deepEqual(CHOICES, Object.fromEntries(choices));
    const rows = [{ line: 2, row: { key: 's1' } }];
    assert.deepEqual(mappedRows(rows, new Map([['key', 'id']]), new Map([['amount', '12']])), [
      { line: 2, row: { id: 's1', amount: 12 } },
    ]);
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

  it('refuses the row of a CSV file that is too short, too long or never ends, and takes the others', async () => {
    const text = 'id,plan\ns1,a\ns2\ns3,b\ns4,b,c\ns5,d\ns6,"e\n';
    const rows = await rowsOf(new File([text], 'subscriptions.csv'));
    const shown = rows.map((one) => ('row' in one ? one : { line: one.line }));
    assert.deepEqual(shown, [
      { line: 2, row: { id: 's1', plan: 'a' } },
      { line: 3 },
      { line: 4, row: { id: 's3', plan: 'b' } },
      { line: 5 },
      { line: 6, row: { id: 's5', plan: 'd' } },
      { line: 7 },
    ]);
    const problems = rows.map((one) => ('problem' in one ? one.problem : ''));
    assert.match(problems[1] ?? '', /length is 2, got 1 on line 3/);
  });

  it('guesses what the columns of other systems become, each member once', () => {
    const { description } = importRecords.input.shape.records;
    const members = membersOf(description, 'users');
    assert.deepEqual(members.slice(0, 4), [
      { name: 'uid', needed: true },
      { name: 'email', needed: true },
      { name: 'status', needed: true },
      { name: 'plan', needed: false },
    ]);
    assert.deepEqual(
      guessed(['User ID', 'E-Mail', 'Plan', 'Full name', 'created_at', 'Created', 'shoe size'], members),
      new Map([
        ['E-Mail', 'email'],
        ['created_at', 'createdAt'],
        ['User ID', 'uid'],
        ['Plan', 'plan'],
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
      { line: 3, problem: 'The line is not a JSON object.' },
      { line: 4, problem: 'The line is not a JSON object.' },
    ]);
    await assert.rejects(rowsOf(new File([''], 'rows.txt')), /rows\.txt is neither/);
  });

  it('takes the exports of other systems by a preset, and says what it leaves out or cannot take', async () => {
    const line = JSON.stringify({ id: 'sub_1', customer_id: 'ctm_1', items: 5, billing_cycle: null, status: 'active' });
    const paddle = await rowsOf(new File([line], 'paddle.ndjson'));
    assert.deepEqual(fittingPresets(paddle).fitting, ['paddle-subscriptions']);
    const [bad] = presetRows(presetOf('paddle-subscriptions'), paddle).rows;
    assert.match(bad && 'problem' in bad ? bad.problem : '', /not have the form/);
    const csv =
      'id,Customer,Total,Currency,Status,Date (UTC)\nin_1,cus_1,"1,029.90",eur,paid,2026-03-01 09:30\nin_2,c,1,eur,draft,\n';
    const stripe = await rowsOf(new File([csv], 'anything.csv'));
    assert.deepEqual(fittingPresets(stripe).fitting, ['stripe-invoices']);
    const { rows, leftOut } = presetRows(presetOf('stripe-invoices'), stripe);
    assert.deepEqual(leftOut, new Map([['is draft', 1]]));
    assert.deepEqual(rows, [
      {
        line: 2,
        row: {
          id: 'in_1',
          uid: 'cus_1',
          total: 102_990,
          tax: 0,
          currency: 'EUR',
          status: 'paid',
          issuedAt: '2026-03-01T09:30Z',
        },
      },
    ]);
    assert.deepEqual(lacksOf('stripe-customers', stripe), ['Email', 'Created (UTC)']);
  });
});

function presetOf(name: string) {
  return presets[name] ?? assert.fail(name);
}
