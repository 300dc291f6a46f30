import assert from 'node:assert/strict';
import { errorBody, errorStatus } from '../../../resources/error.ts';
import { globMatcher } from '../../../tools/core/access/allowlist.ts';
import { formatGrant, grantAllows, grantCovers, parseGrant } from '../../../tools/core/access/grants.ts';
import { callsOf } from '../../support/calls.ts';
import { send } from '../../support/http.ts';
import { startTestServer } from '../../support/server.ts';
import { bytesOf, headAndRest, type Target, textOf } from '../target.ts';
import { requireQuiet } from './http.ts';

const AGENTS = 7;
const MOST_PAGES = 12;
const LONGEST_QUERY = 8000;

/** What narrows lists and rights: queries and cursors of lists, globs of allowlists, grants. The first line says which. */
export const filters: Target = {
  about: 'filters and cursors of lists, globs and grants',
  sources: [
    'facade/rest',
    'tools/core/access',
    'tools/core/registry/paging.ts',
    'tools/agents/agents.ts',
    'tools/search',
    'facade/routes.ts',
  ],
  atOnce: 4,
  seeds: [
    'list\nagents?limit=3&includeTotal=true',
    'list\nagents?status=paused&name=a&limit=1',
    'list\nagents/skills?limit=2&cursor=CURSOR',
    'list\nagents/flows?limit=100&triggerKind=webhook',
    'list\nagents/memory?limit=2&agentId=agt_1&q=a',
    'list\nthreads?limit=2&status=open&from=2026-01-01T00:00:00Z&to=2026-02-01',
    'list\nusers?limit=2&status=PRO,FREE&email=a&sort=createdAt',
    'list\nplatform-users?limit=2&role=owner',
    'list\nreports?limit=1&kind=a',
    'list\nsearch?q=a%20b&types=agent,skill&limit=3',
    bytesOf('list\nsearch?q=ä%22b%22*&types=agent&types=thread'),
    'list\nanalytics/overview?from=2026-01-01&to=2026-02-01&interval=week',
    'list\nversions/agent/AGENT?limit=1',
    'glob\nlist_*\nlist_agents',
    'glob\n*a*b*c\nxaxbxc',
    'glob\ngithub__*\ngithub__list',
    'grant\nagent:read:agt_1\nagent:*',
    'grant\ntool:call:github/*\ntool:call:github%2Flist',
    'grant\n*:read\nskill:read:%F0%9F%98%80',
  ],
  async open() {
    const server = await startTestServer({ LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' });
    const { must } = callsOf(server);
    const ids: string[] = [];
    for (let at = 0; at < AGENTS; at += 1)
      ids.push((await must('create_agent', { name: `a${at}`, displayName: 'A b' })).id);
    const { nextCursor } = await must('list_agents', { limit: 2 });
    const ask = async (path: string) => {
      const answer = await send(`${server.baseUrl}/api/v1/${path}`, {
        headers: { Authorization: `Bearer ${server.adminKey}` },
      });
      return { status: answer.status, body: JSON.parse(answer.text) };
    };
    return {
      async run(input) {
        const { head, rest } = headAndRest(input);
        const [one = '', other = ''] = textOf(rest).split('\n');
        if (head === 'glob') return judgeGlob(one, other);
        if (head === 'grant') return judgeGrants(one, other);
        const filled = one.replaceAll('CURSOR', nextCursor).replaceAll('AGENT', ids[0] ?? '');
        await judgeList(encodeURI(filled.toWellFormed()).replaceAll('%25', '%').replaceAll('#', ''), ask);
      },
      settled: () => requireQuiet(server),
      close: () => server.close(),
    };
  },
};

// biome-ignore lint/suspicious/noExplicitAny: bodies of all lists
type Ask = (path: string) => Promise<{ readonly status: number; readonly body: any }>;

/** All pages together have each record once, and as many as the total says. */
async function judgeList(path: string, ask: Ask): Promise<void> {
  if (path.length > LONGEST_QUERY || /stream/.test(path)) return;
  const first = await ask(path);
  if (first.status >= 300) {
    assert.deepEqual(errorBody.strict().parse(first.body), first.body);
    assert.equal(first.status, errorStatus[first.body.code as keyof typeof errorStatus]);
    return assert.notEqual(first.body.code, 'internal');
  }
  if (!Array.isArray(first.body.data) || !('nextCursor' in first.body) || /cursor=/.test(path)) return;
  const ids = first.body.data.map(({ id }: { id: unknown }) => id);
  let cursor: string | null = first.body.nextCursor;
  for (let page = 1; cursor !== null && page < MOST_PAGES; page += 1) {
    const next = await ask(`${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`);
    assert.equal(next.status, 200, JSON.stringify(next.body));
    assert.ok(next.body.data.length > 0 || next.body.nextCursor === null, 'an empty page that is not the last');
    ids.push(...next.body.data.map(({ id }: { id: unknown }) => id));
    cursor = next.body.nextCursor;
  }
  if (ids[0] === undefined) return;
  assert.equal(new Set(ids).size, ids.length, 'a record is on two pages');
  if (cursor === null && first.body.total !== undefined) assert.equal(ids.length, first.body.total);
}

function judgeGlob(glob: string, name: string): void {
  if ((glob.match(/\*/g)?.length ?? 0) > 6 || name.length > 200) return void globMatcher(glob)(name);
  const pattern = glob.split(/\*+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  assert.equal(globMatcher(glob)(name), new RegExp(`^${pattern.join('[^]*')}$`).test(name));
}

/** A grant reads as it was written, and covers exactly what allows nothing beyond it. */
function judgeGrants(one: string, other: string): void {
  const [wide, narrow] = [parseGrant(one), parseGrant(other)];
  for (const parsed of [wide, narrow]) {
    if (!parsed.ok) assert.notEqual(parsed.message, '');
    else {
      const again = parseGrant(formatGrant(parsed.grant));
      assert.deepEqual(again, parsed);
      assert.ok(grantCovers(parsed.grant, parsed.grant), formatGrant(parsed.grant));
    }
  }
  if (
    !wide.ok ||
    !narrow.ok ||
    narrow.grant.id.endsWith('*') ||
    narrow.grant.op === '*' ||
    narrow.grant.resource === '*'
  )
    return;
  const { resource, op, id } = narrow.grant;
  const need = { resource, op, ids: [decodeURIComponent(id).normalize('NFC')] };
  assert.equal(grantCovers(wide.grant, narrow.grant), grantAllows(wide.grant, need), `${one} and ${other}`);
}
