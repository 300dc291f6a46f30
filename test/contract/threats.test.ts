import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findGuide } from '../../facade/guides/guides.ts';
import { csvOf } from '../../resources/csv.ts';
import { callsOf, callTool, outcomeOf, rest } from '../support/calls.ts';
import { send } from '../support/http.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';

const testOf = (name: string) => fileURLToPath(new URL(`../${name}.test.ts`, import.meta.url));

describe('the threat model', () => {
  const { markdown = '' } = findGuide('threat-model') ?? {};

  it('names for each guard tests that are there', () => {
    const tables = markdown.split(/\n\n/).filter((part) => part.includes('| attacked by |'));
    const guards = tables.flatMap((table) => table.trim().split('\n').slice(2));
    assert.ok(guards.length > 25, `${guards.length} guards`);
    for (const guard of guards) {
      const named = [...(guard.split('|').at(-2) ?? '').matchAll(/`([\w/-]+)`/g)].map(([, name = '']) => name);
      assert.ok(named.length > 0, guard);
      for (const name of named) assert.ok(existsSync(testOf(name)), `${name}: ${guard}`);
    }
  });
});

describe('an attacker', () => {
  const server = serverForTests();
  const { must, codeOf } = callsOf(server);

  it('reaches no prototype by members of JSON, at any door', async () => {
    const { id: databaseId } = await must('create_database', { name: 'd', columns: [{ name: 'a', type: 'string' }] });
    for (const member of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty']) {
      const value = `{"name": "x", "${member}": {"polluted": true, "prototype": {"polluted": true}}}`;
      const { status } = await rest(server, 'POST', '/api/v1/agents/skills', { key: server.adminKey, body: value });
      assert.equal(status, 400, member);
      for (const [tool, input] of [
        ['create_skill', value],
        ['create_record', `{"databaseId": "${databaseId}", "values": {"${member}": {"polluted": true}}}`],
        ['call_tool', `{"name": "create_skill", "arguments": ${value}}`],
      ]) {
        const body = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "${tool}", "arguments": ${input}}}`;
        const answer = await rest(server, 'POST', '/api/v1/mcp', { key: server.adminKey, body });
        assert.equal(answer.body.result?.isError, true, `${tool} ${member}: ${JSON.stringify(answer.body)}`);
      }
    }
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it('finds no file by a path', async () => {
    const up = ['../', '..%2f', '%2e%2e/', '..%5c', '..\\', '....//'].map((step) => step.repeat(3));
    for (const folder of ['/guides/', '/assets/', '/', '/api/v1/agents/', '/.well-known/']) {
      for (const path of up) {
        const { status, text } = await send(`${server.baseUrl}${folder}${path}package.json`, {
          headers: { Authorization: `Bearer ${server.adminKey}` },
        });
        assert.ok(status >= 300 && status < 500, `${folder}${path}: ${status}`);
        assert.ok(!text.includes('"devDependencies"'), `${folder}${path}`);
      }
    }
    const uris = ['guide://../../package', 'guide://..%2f..%2fpackage.json', 'file:///etc/passwd', 'skill://../x'];
    for (const uri of uris) {
      const message = { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri } };
      const { body } = await rest(server, 'POST', '/api/v1/mcp', { key: server.adminKey, body: message });
      assert.ok(body.error, uri);
    }
  });

  it('has spreadsheets compute nothing', () => {
    for (const sign of ['=', '+', '-', '@', '\t', '\r']) {
      const [, line = ''] = csvOf([{ a: `${sign}cmd|' /C calc'!A0` }]).split('\r\n');
      assert.match(line, /^"?'/, sign);
    }
    assert.equal(csvOf([{ '=x': -1, b: true }]), `'=x,b\r\n-1,true\r\n`);
  });

  it('leaves an owner, however two of them remove each other at once', async () => {
    const [first] = (await must('list_admin_users')).data;
    for (let round = 0; round < 5; round += 1) {
      const other = await must('create_admin_user', { email: `other-${round}@example.com`, role: 'owner' });
      const cookies = await Promise.all([signIn(server, first.email), signIn(server, other.email)]);
      const deactivated = await Promise.all(
        [other.id, first.id].map((id, at) =>
          callTool(server, cookies[at] ?? '', 'deactivate_admin_user', { id }).then(outcomeOf, () => 'signed out'),
        ),
      );
      assert.equal(deactivated.filter((outcome) => outcome === 'ok').length, 1, deactivated.join());
      const owners = await server.store.adminUsers.find({ where: { role: 'owner', isActive: true }, limit: 10 });
      assert.equal(owners.records.length, 1);
      if (deactivated[1] === 'ok') return; // the key of the admin ended with the first owner
    }
    assert.equal(await codeOf('list_agents'), 'ok');
  });
});
