import assert from 'node:assert/strict';
import { it } from 'node:test';
import { catalog } from '../../tools/catalog.ts';
import { canBeInCapsule } from '../../tools/core/access/capsule-principal.ts';
import { formatGrant } from '../../tools/core/access/grants.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import { grantsFor } from '../../tools/core/access/requirement.ts';
import { callTool, makeKey, type ToolAnswer } from '../support/calls.ts';
import { capsuleClients } from '../support/capsules.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { type Ask, normalised, story } from './story.ts';

/** Say what the caller is and may call, and so not the same to both: a key that may write flows can take them over. */
const ABOUT_CALLER = ['get_current_principal', 'list_tool_categories'];
const tools = catalog.entries
  .map(({ tool }) => tool)
  .filter((tool) => isListed(tool) && canBeInCapsule(tool) && !ABOUT_CALLER.includes(tool.name));
const names = new Set(tools.map(({ name }) => name));

/** Told by somebody who has the rights of all tools that a capsule can have; the rest of the story by the admin. */
async function tell(open: (server: TestServer) => Promise<Ask>) {
  const server = await startTestServer();
  const reader = await makeKey(server, { scopes: ['read'] });
  const own = await open(server);
  const asAdmin: Ask = (tool, input) => callTool(server, server.adminKey, tool, input);
  const outcomes: unknown[] = [];
  const asOwn: Ask = async (tool, input) => {
    const answer = await own(tool, input);
    outcomes.push([tool, 'output' in answer ? answer.output : answer.error.code]);
    return answer;
  };
  await story(
    (tool, input) => (names.has(tool) ? asOwn : asAdmin)(tool, input),
    (tool, input) => callTool(server, reader, tool, input),
  );
  await server.store.audit.flush();
  const { records } = await server.store.audit.find({ limit: 1000 });
  const audit = records
    .filter(({ tool }) => names.has(tool))
    .map(({ tool, outcome, code, arguments: args }) => ({ tool, outcome, code, args }));
  return normalised({ outcomes, audit: audit.reverse() }, 'none');
}

it('the door of a capsule gives what a key with the rights of its tools gets at the unified endpoint', async () => {
  const grants = [...new Set(tools.flatMap(({ access }) => grantsFor(access)).map(formatGrant))];
  const [key, capsule] = await Promise.all([
    tell(async (server) => {
      const secret = await makeKey(server, { grants });
      return (tool, input) => callTool(server, secret, tool, input);
    }),
    tell(async (server) => {
      const { make, call } = capsuleClients(() => server);
      const own = await make({ allowedTools: [...names] });
      return async (tool, input): Promise<ToolAnswer> => {
        const answer = await call(own, tool, input);
        return 'error' in answer && 'requestId' in answer ? { error: answer } : { output: answer };
      };
    }),
  ]);
  assert.deepEqual(asKeys(capsule), asKeys(key));
});

function asKeys(told: unknown): unknown {
  const text = JSON.stringify(told)
    .replace(/"capsuleId":"cap_\d+",/g, '')
    .replaceAll('"door":"capsule"', '"door":"mcp"')
    .replaceAll('"capsule"', '"api-key"');
  return JSON.parse(text.replace(/\bcap_/g, 'key_'));
}
