import { z } from 'zod';
import { requiredRight } from '../resources/error.ts';
import { recordId } from '../resources/fields.ts';
import { callOf, refTo } from '../resources/markers.ts';
import type { Readers } from '../store/port.ts';
import { beyond, inputOf, type Judging, listedToolNamed } from './access/judge.ts';
import { verdictsOf } from './capsules/verdicts.ts';
import { capsulePrincipal, capsuleProblem } from './core/access/capsule-principal.ts';
import { explainRight, type Finding } from './core/access/explain.ts';
import type { GuardedTool } from './core/access/guarded-tool.ts';
import { keyProblem, principalOf } from './core/access/key-principal.ts';
import type { Principal } from './core/access/principal.ts';
import { mayCall, withFixed } from './core/access/reach.ts';
import type { Subjects } from './core/access/requirement.ts';
import { subjectsIn } from './core/access/subjects.ts';
import { ToolError } from './core/errors.ts';
import type { Context } from './core/registry/context.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';
import type { Tool } from './core/registry/tool.ts';
import { withoutAliases } from './core/registry/validate.ts';

const verdict = z.enum(['allowed', 'denied', 'depends']);
const check = z.enum(['credential', 'tools', 'right', 'delegation']);

type Check = Finding & { readonly check: z.output<typeof check> };

export const explainAccess = defineTool({
  name: 'explain_access',
  title: 'Explain access',
  description:
    'Explain whether a key or capsule may make a call and which rule decides, before or after a refusal. Makes no call. Restricted threads are not considered: see get_thread_access.',
  keywords:
    'why am I not allowed, permission denied, forbidden, 403, may somebody do this, check permissions, can Anna delete, authorisation, would somebody be able to delete this, why was I refused, can this key call that tool, is a person allowed',
  access: { scope: 'admin', grant: 'key:read' },
  annotations: READS,
  input: callOf(
    'tool',
    z.strictObject({
      keyId: refTo('key', recordId).optional().describe('Key id (`key_…`), see list_api_keys; or give capsuleId.'),
      capsuleId: refTo('capsule', recordId).optional().describe('Capsule id (`cap_…`), see list_capsules.'),
      tool: refTo('tool', z.string().min(1).max(200)).describe('Name of the tool.'),
      arguments: z.looseObject({}).optional().describe('Of the call; without them the tool as a whole is judged.'),
    }),
  ),
  output: z.object({
    verdict: verdict.describe('depends: on the arguments, which were not given or do not fit.'),
    principal: z.object({ type: z.string(), id: z.string(), name: z.string() }),
    tool: z.string(),
    checks: z.array(z.object({ check, verdict, rule: z.string() })).describe('In the order in which they are made.'),
    required: requiredRight
      .optional()
      .describe('What would allow the call: the scope, or for a key with grants the grant.'),
  }),
  errors: ['not_found'],

  async handler({ keyId, capsuleId, tool: name, arguments: given }, context) {
    if ((keyId === undefined) === (capsuleId === undefined)) {
      throw context.fail('invalid_input', 'Give either keyId or capsuleId: whose access is to be explained.');
    }
    const tool = listedToolNamed(name, context.server.catalog);
    const input = given && (withoutAliases(tool, given) as object); // stays an object
    const { principal, checks } = await (keyId === undefined
      ? explainCapsule(capsuleId ?? '', tool, input, context)
      : explainKey(keyId, tool, input, context));
    const missing = checks.find(({ required }) => required)?.required;
    return {
      verdict: worst(checks),
      principal: { type: principal.type, id: principal.id, name: principal.name },
      tool: name,
      checks: checks.map(({ check, verdict, rule }) => ({ check, verdict, rule })),
      ...(missing && { required: missing }),
    };
  },
});

type Explaining = Context<Readers, 'not_found'>;
type Explanation = Promise<{ readonly principal: Principal; readonly checks: readonly Check[] }>;

async function explainKey(id: string, tool: Tool, given: object | undefined, context: Explaining): Explanation {
  const { store, server, fail } = context;
  const key = await store.apiKeys.get(id);
  if (!key) throw fail('not_found', `There is no API key ${id}; see list_api_keys.`);
  const principal = principalOf(key, await store.adminUsers.get(key.ownerId));
  const input = await inputOf(principal, tool, given ?? {}, context);
  const isKnown = input !== undefined;
  const right = await explainRight(
    principal,
    tool,
    input ?? given ?? {},
    isKnown,
    subjectsIn(store, server.kinds),
    given,
  );
  const refused = right.verdict === 'allowed' && isKnown ? await delegation(principal, tool, input, context) : [];
  return {
    principal,
    checks: [credential(await keyProblem(store, key, server.now())), { check: 'right', ...right }, ...refused],
  };
}

async function delegation(principal: Principal, tool: Tool, input: object, judging: Judging): Promise<Check[]> {
  const refused = await beyond(principal, tool, input, judging);
  return refused ? [{ check: 'delegation', ...refused }] : [];
}

/** A capsule has the rights that its tools need, so its lists and fixed arguments decide. */
async function explainCapsule(id: string, tool: Tool, given: object | undefined, context: Explaining): Explanation {
  const { store, server, fail } = context;
  const capsule = await store.capsules.get(id);
  if (!capsule) throw fail('not_found', `There is no capsule ${id}; see list_capsules.`);
  const principal = capsulePrincipal(capsule, server.catalog, await store.adminUsers.get(capsule.ownerId));
  const problem = await capsuleProblem(store, capsule, server.now());
  const found = verdictsOf(capsule, server.catalog).flatMap(({ entry, tools }) =>
    tools.flatMap(({ name, ...judged }) => (name === tool.name ? { entry, ...judged } : [])),
  );
  const deciding = found.find(({ served }) => served) ?? found[0];
  const rule = deciding
    ? `${tool.name}, by the entry ${deciding.entry}: ${deciding.rule}.`
    : `No entry matches ${tool.name}.`;
  const lists: Check = { check: 'tools', verdict: deciding?.served ? 'allowed' : 'denied', rule };
  const checks = [credential(problem), lists];
  if (!deciding?.served) return { principal, checks };
  try {
    const input = await inputOf(principal, tool, withFixed(principal, tool, given ?? {}), context);
    const narrowed = await narrowing(principal, tool, input, subjectsIn(store, server.kinds));
    const refused = input ? await delegation(principal, tool, input, context) : [];
    return { principal, checks: [...checks, ...narrowed, ...refused] };
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    return { principal, checks: [...checks, { check: 'tools', verdict: 'denied', rule: thrown.message }] };
  }
}

/** How the fixed arguments of the capsule's other tools narrow the call. `input` is parsed, and undefined if it does not fit the schema. */
async function narrowing(principal: Principal, tool: GuardedTool, input: object | undefined, subjects: Subjects) {
  const rule = principal.tools?.narrowed?.(tool);
  if (rule === undefined) return [];
  const isAllowed = input && (await mayCall(principal, tool, input, subjects));
  // A list is always allowed, because it leaves out the other records.
  const verdict = input === undefined ? 'depends' : isAllowed ? 'allowed' : 'denied';
  return [{ check: 'right', verdict, rule } satisfies Check];
}

function credential(problem: string | undefined): Check {
  const rule = problem ?? 'The credential is good.';
  return { check: 'credential', verdict: problem === undefined ? 'allowed' : 'denied', rule };
}

function worst(findings: readonly Finding[]): Finding['verdict'] {
  const found = new Set(findings.map(({ verdict }) => verdict));
  if (found.has('denied')) return 'denied';
  return found.has('depends') ? 'depends' : 'allowed';
}
