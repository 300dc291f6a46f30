import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SECTIONS } from '../../facade/dashboard/pages/settings/sections.ts';
import { catalog } from '../../tools/catalog.ts';
import type { JsonSchema } from '../../tools/core/registry/json-schema.ts';
import { formSchema } from '../../tools/core/registry/listed-tool.ts';
import { kinds } from '../../tools/kinds.ts';
import { rest } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';

/** Whose ids and names fields take besides those of kinds. */
const OTHERS = [
  'approval',
  ...['agent-run', 'app', 'audit-entry', 'connection', 'flow-run', 'integration', 'key', 'model', 'model-provider'],
  'oauth-client',
  ...['passkey', 'session', 'tool', 'user', 'version', 'webhook', 'webhook-delivery'],
];
const CONTROLS = ['code', 'cron', 'model', 'secret', 'text', 'timezone', 'tools'];
/** Members that end like ids and take none of one known kind of record: their neighbours say which, or nothing here has such a record. */
const OTHER_IDS =
  /^(entityId|recordId|principalId|requestId|clientId|railId|create_sign_in_link email|purge_record id|take_over id|list_who_can id|(create|update)_flow id|.*_thread_access id)$/;

interface Member extends JsonSchema {
  readonly properties?: Readonly<Record<string, Member>>;
  readonly items?: Member;
  readonly anyOf?: readonly Member[];
}

function* membersOf(node: Member, depth = 0): Generator<readonly [name: string, member: Member, depth: number]> {
  for (const [name, member] of Object.entries(node.properties ?? {})) {
    yield [name, member, depth];
    yield* membersOf(member, depth + 1);
  }
  if (node.items) yield* membersOf(node.items, depth + 1);
  for (const form of node.anyOf ?? []) yield* membersOf(form, depth);
}

function said(node: Member, word: 'x-ref' | 'x-control'): unknown {
  return (
    node[word] ?? (node.items && said(node.items, word)) ?? node.anyOf?.map((form) => said(form, word)).find(Boolean)
  );
}

const members = catalog.entries.flatMap(({ tool }) =>
  Array.from(membersOf(formSchema(tool.input, kinds)), ([name, member, depth]) => ({
    tool: tool.name,
    name,
    member,
    depth,
  })),
);

describe('hints for forms', () => {
  it('say of every member that takes an id whose id it is', () => {
    const left = members.filter(({ tool, name, member, depth }) => {
      const takesId = /(^id|Ids?)$/.test(name) || /see list_\w+/.test(String(member.description));
      const isOther = OTHER_IDS.test(name) || (name === 'id' && depth > 0) || OTHER_IDS.test(`${tool} ${name}`);
      return takesId && !isOther && said(member, 'x-ref') === undefined;
    });
    assert.deepEqual(
      left.map(({ tool, name }) => `${tool} ${name}`),
      [],
      'nothing says whose ids these take; mark them with refTo',
    );
  });

  it('name only types that there are, and controls that forms know', () => {
    const types = [...kinds.map(({ type }) => type), ...OTHERS];
    for (const { tool, name, member } of members) {
      const [ref, control] = [said(member, 'x-ref'), said(member, 'x-control')];
      assert.ok(ref === undefined || types.includes(String(ref)), `${tool} ${name}: ${ref}`);
      assert.ok(control === undefined || CONTROLS.includes(String(control)), `${tool} ${name}: ${control}`);
    }
  });

  it('tell what each kind of member is', () => {
    const of = (tool: string, name: string) => members.find((each) => each.tool === tool && each.name === name)?.member;
    assert.deepEqual(
      [of('update_task', 'assigneeAgentId'), of('get_flow_run', 'id'), of('create_agent', 'skillIds')].map((member) => [
        member?.title,
        member && said(member, 'x-ref'),
      ]),
      [
        ['Assignee agent', 'agent'],
        ['Flow run', 'flow-run'],
        ['Skills', 'skill'],
      ],
    );
    const controls = [
      'create_agent modelPreference',
      'update_agent tools',
      'update_settings timezone',
      'create_flow expression',
    ];
    assert.deepEqual(
      controls.map((place) => {
        const [tool = '', name = ''] = place.split(' ');
        return said(of(tool, name) ?? {}, 'x-control');
      }),
      ['model', 'tools', 'timezone', 'cron'],
    );
  });

  describe('in lists', () => {
    const server = serverForTests();

    async function list(query: string) {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const { body } = await rest(server, 'POST', `/api/v1/mcp${query}`, { key: server.adminKey, body: message });
      return body;
    }

    it('stand only where they are asked for', async () => {
      const plain = JSON.stringify(await list(''));
      assert.ok(
        !plain.includes('x-ref') && !plain.includes('x-control') && !plain.includes('"title":"Assignee agent"'),
      );
      const hinted = (await list('?hints=1&tools=*_task')).result.tools;
      const task = hinted.find(({ name }: { name: string }) => name === 'create_task');
      assert.equal(task.inputSchema.properties.assigneeAgentId['x-ref'], 'agent');
      assert.equal(typeof task.inputSchema.properties.title.maxLength, 'number');
      assert.equal(task.inputSchema.additionalProperties, false);
    });

    it('are 1 or absent', async () => {
      assert.match((await list('?hints=yes')).error.message, /hints= in the URL is 1/);
    });
  });

  it('have words for people at each setting, on one tab of the settings', () => {
    const settings = catalog.entries.find(({ tool }) => tool.name === 'update_settings');
    const { properties = {} } = formSchema(settings?.tool.input ?? assert.fail(), kinds) as Member;
    const asked = SECTIONS.flatMap(({ words }) => Object.keys(words).filter((name) => !name.includes('.')));
    assert.deepEqual(
      asked.sort(),
      Object.keys(properties)
        .filter((name) => name !== 'expectedRevision')
        .sort(),
    );
  });
});
