import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import { Mutex } from '../../store/mutex.ts';
import { closedAtEnd } from '../support/at-end.ts';
import { callsOf, mustCall } from '../support/calls.ts';
import { FULL } from '../support/full.ts';
import { serverForTests } from '../support/server.ts';
import { signIn } from '../support/sign-in.ts';
import { WebClient } from '../support/web-client.ts';
import { type Check, type ClientTask, readRequirements, runClientSuite } from './conformance/suite.ts';

const EXTENSION = 'an extension that integrations do not use';
const extensions = Object.fromEntries(
  [
    'client-credentials-jwt',
    'client-credentials-basic',
    'enterprise-managed-authorization',
    'dpop',
    'dpop-nonce',
    'wif-jwt-bearer',
  ].map((name) => [`auth/${name}`, [EXTENSION]]),
);
const shared: Exceptions = {
  ...extensions,
  'auth/basic-cimd': [
    'looks for the address of its own document, not of the one of this server',
    'cimd-client-id-used',
  ],
};

/** For each scenario that does not pass the reason, and the checks of a required scenario that fail. */
type Exceptions = Readonly<Record<string, readonly string[]>>;
const notPassing: Readonly<Record<string, Exceptions>> = {
  '2026-07-28': {
    ...shared,
    'http-custom-headers': [
      'calls with null where its schema wants a boolean, which is refused',
      'sep-2243-client-omit-null',
    ],
  },
  '2025-11-25': {
    ...shared,
    'elicitation-sep1034-client-defaults': [
      'servers of this revision cannot ask for input, for want of a stream to the caller',
    ],
  },
};

/** The number of scenarios that a revision requires. */
const required: Readonly<Record<string, number>> = { '2026-07-28': 32, '2025-11-25': 18 };
/** At a time. The suite starts all together, and connections that wait for long are closed by its servers. */
const AT_ONCE = 3;

const server = serverForTests({ RATE_LIMIT_PER_MINUTE: '0' });

/** Connects to the server of a scenario as an administrator does: an integration, an account where it wants one, and a call of each tool. */
async function connect({ scenario, url, context }: ClientTask, person: Person): Promise<void> {
  const { must } = callsOf(server);
  const wantsAccount = scenario.startsWith('auth/');
  const { client_id: clientId, client_secret: clientSecret, issuer } = context;
  const client = { clientId, ...(clientSecret && { clientSecret }), ...(issuer && { issuer }) };
  const { id, toolPrefix } = await must('create_integration', {
    name: `${person.revision} ${scenario.replaceAll('/', ' ')}`,
    toolPrefix: `scenario-${++connections}`,
    transport: 'http',
    url,
    accept: true,
    ...(wantsAccount && { auth: 'oauth-shared', ...(clientId !== undefined && { oauth: client }) }),
  });
  try {
    const connected = (): Promise<void> => (wantsAccount ? connectAccount(id, person.cookie) : Promise.resolve());
    /** Once more with an account of now, where the server wants another one. */
    const work = async <Result>(of: () => Promise<Result>, failed: (result: Result) => boolean) => {
      const first = await of();
      if (!failed(first) || !wantsAccount) return first;
      await connected();
      return of();
    };
    await connected();
    await work(
      () => must('refresh_integration', { id, accept: true }).catch(() => undefined),
      (listed) => listed === undefined,
    );
    for (const { name, input } of await callsFor(person, toolPrefix, context)) {
      const call = () => person.client.callTool({ name, arguments: input });
      const change = changeNamedIn((await call()).content);
      if (change === undefined) continue;
      await must('update_integration', change);
      await connected();
      await call();
    }
  } finally {
    await must('delete_integration', { id });
  }
}

/** What an administrator has to change, as the error of a call says it. */
function changeNamedIn(content: readonly object[]): object | undefined {
  const [block] = content as { text?: string }[];
  const [, change] = /with update_integration (\{.*\}), then/.exec(errorIn(block?.text)) ?? [];
  return change === undefined ? undefined : JSON.parse(change);
}

function errorIn(text = ''): string {
  return text.startsWith('{') ? String(JSON.parse(text).error) : '';
}

/** The calls that the scenario names, or one of each tool. */
async function callsFor({ client }: Person, prefix: string, { toolCalls }: ClientTask['context']) {
  const { tools } = await client.listTools();
  const own = tools.filter(({ name }) => name.startsWith(`${prefix}__`));
  const named = toolCalls?.map((call) => ({ name: `${prefix}__${call.name}`, input: call.arguments }));
  const [{ inputSchema } = { inputSchema: {} }] = own;
  return named ?? own.map((tool) => ({ name: tool.name, input: sampleOf(tool.inputSchema, inputSchema) }));
}

/** An input with every member; one that is a schema gets that of the first tool. */
function sampleOf({ properties = {} }: Tool['inputSchema'], schema: object): Record<string, unknown> {
  const values: Record<string, unknown> = { number: 1, integer: 1, boolean: true, string: 'text', object: schema };
  const typeOf = (member: unknown) => String(Object(member).type);
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, values[typeOf(member)]]));
}

async function connectAccount(id: string, cookie: string): Promise<void> {
  const { url } = await mustCall(server, cookie, 'connect_integration', { id });
  const browser = new WebClient();
  const [name = '', value = ''] = cookie.split('=');
  browser.cookies.set(new URL(server.baseUrl).origin, new Map([[name, value]]));
  await browser.open(url);
  await browser.send();
  const next = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(browser.page.text)?.[1];
  if (next !== undefined) await browser.open(next.replaceAll('&amp;', '&'));
  assert.match(browser.page.heading, /is connected/, browser.page.text.slice(browser.page.text.indexOf('<main')));
}

/** Prefixes are short, as names of tools have an end. */
let connections = 0;

interface Person {
  readonly revision: string;
  readonly cookie: string;
  readonly client: Client;
}

async function newPerson(revision: string): Promise<Person> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirmed: true } }));
  const requestInit = { headers: { Authorization: `Bearer ${server.adminKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.baseUrl}/api/v1/mcp`), { requestInit }));
  closedAtEnd(() => client.close());
  return { revision, cookie: await signIn(server), client };
}

for (const [revision, exceptions] of FULL ? Object.entries(notPassing) : []) {
  describe(`our client of integrations, ${revision}`, () => {
    const scenarios = readRequirements(revision, 'client');
    let found: ReadonlyMap<string, readonly Check[]>;
    before(async () => {
      const person = await newPerson(revision);
      const queues = Array.from({ length: AT_ONCE }, () => new Mutex());
      let next = 0;
      found = await runClientSuite(revision, async (task) => {
        const done = await queues[next++ % AT_ONCE]?.take();
        await connect(task, person).finally(done);
      });
    });

    it('ran all scenarios', () => {
      assert.deepEqual([...found.keys()].sort(), scenarios.map(({ name }) => name).sort());
      assert.equal(scenarios.filter(({ scored }) => scored).length, required[revision]);
      assert.deepEqual(
        Object.keys(exceptions).filter((name) => !found.has(name)),
        [],
      );
    });

    for (const { name, scored } of scenarios) {
      const [reason, ...failing] = exceptions[name] ?? [];
      it(`${name}${scored ? '' : ' (not required)'}${reason ? ` does not pass: ${reason}` : ' passes'}`, () => {
        const checks = found.get(name) ?? [];
        const problems = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
        if (reason === undefined) assert.ok(checks.some(({ status }) => status === 'SUCCESS'));
        if (reason === undefined || failing.length > 0) {
          assert.deepEqual([...new Set(problems.map(({ id }) => id))], failing, JSON.stringify(problems, null, 2));
        } else assert.ok(problems.length > 0);
      });
    }
  });
}

it('the official suite has scenarios for clients of both revisions', () => {
  for (const [revision, number] of Object.entries(required)) {
    assert.equal(readRequirements(revision, 'client').filter(({ scored }) => scored).length, number);
  }
});
