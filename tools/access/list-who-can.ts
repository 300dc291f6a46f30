import { z } from 'zod';
import { agentRef, pageOf, paging, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { type CollectionName, collections } from '../../store/collections.ts';
import type { Readers } from '../../store/port.ts';
import { asksFirst } from '../core/access/ask-first.ts';
import type { Finding } from '../core/access/explain.ts';
import { neededRights } from '../core/access/requirement.ts';
import { subjectsIn } from '../core/access/subjects.ts';
import { invalidMember } from '../core/errors.ts';
import type { Context } from '../core/registry/context.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { listPage, readerOf } from '../core/registry/paging.ts';
import { looksLikeId, recordsNamed } from '../core/registry/record-names.ts';
import type { Tool } from '../core/registry/tool.ts';
import { reference } from './draft.ts';
import { HOLDER_TYPES, type Holder, type HolderType, holderOf, holdersOf } from './holders.ts';
import { beyond, inputOf, type Judging, judgeCall, judgeTool, listedToolNamed } from './judge.ts';

const verdict = z
  .enum(['allowed', 'depends'])
  .describe('depends: for some records only, or on other arguments of the call.');
const subject = z.object({ type: z.enum(HOLDER_TYPES), id: recordId, name: z.string() });
const rule = z.string().describe('What decides, in the words of explain_access.');

/** Both tell the rights of everybody. */
const access = { scope: 'admin', grant: 'key:read', fullAccess: true } as const;

export const listWhoCan = defineTool({
  name: 'list_who_can',
  title: 'List who can',
  description:
    'List every person, key, capsule, app, agent and flow that may call a tool, or do so to one record, with the rule that allows it. What is disabled, revoked or expired is left out.',
  keywords:
    'who has access, who may delete this, who can do this, access review, which keys can call this tool, who is able to, blast radius of a tool, permissions report, who could have done this, audit of permissions',
  access,
  annotations: READS,
  input: z.strictObject({
    tool: refTo('tool', z.string().min(1).max(200)).describe('Name of the tool.'),
    id: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Id of the record that the call would be about; or the name of an agent, skill or flow.'),
    types: z.array(z.enum(HOLDER_TYPES)).min(1).optional(),
    ...paging,
  }),
  output: pageOf(z.object({ subject, verdict, rule })),
  errors: ['not_found'],

  async handler({ tool: name, id, types, ...page }, context) {
    const tool = listedToolNamed(name, context.server.catalog);
    const about = id === undefined ? undefined : await inputAbout(tool, id, context);
    const found: (Holder & Judged)[] = [];
    for (const holder of await holdersOf(types ?? HOLDER_TYPES, context)) {
      const judged = await judgeHolder(holder, tool, about, context);
      if (judged) found.push({ ...holder, ...judged });
    }
    const filter = { tool: name, id, types };
    return listPage(readerOf(found), page, { filter }, ({ type, id, name, verdict, rule }) => ({
      subject: { type, id, name },
      verdict,
      rule,
    }));
  },
});

const ids = {
  userId: reference('admin-user', 'A person.'),
  keyId: reference('key', 'An API key.'),
  capsuleId: reference('capsule', 'A capsule.'),
  appId: reference('app', 'A connected app.'),
  agentId: agentRef.optional().describe('An agent (id or name), for a caller with full access.'),
  flowId: reference('flow', 'A flow.'),
};
const TYPES: Readonly<Record<keyof typeof ids, HolderType>> = {
  userId: 'person',
  keyId: 'key',
  capsuleId: 'capsule',
  appId: 'app',
  agentId: 'agent',
  flowId: 'flow',
};

export const viewAs = defineTool({
  name: 'view_as',
  title: 'View as',
  description:
    'View as another: list the tools that a person, key, capsule, app, agent or flow may call now, each with the rule that allows it and what narrows it. Name exactly one.',
  keywords:
    'view as, impersonate, what can this key do, what may this person do, effective permissions, what is this agent able to do, see it with the eyes of, rights of somebody',
  access,
  annotations: READS,
  input: z.strictObject(ids),
  output: z.object({
    subject,
    data: z.array(z.object({ tool: z.string(), verdict, rule })).describe('In the order of the tools.'),
  }),
  errors: ['not_found'],

  async handler(input, context) {
    const [[member, id] = ['', undefined], ...others] = Object.entries(input);
    if (id === undefined || others.length > 0) throw context.fail('invalid_input', `Name exactly one of ${MEMBERS}.`);
    const type = TYPES[member as keyof typeof ids]; // a member of the input
    const holder = await holderOf(type, id, context);
    if (!holder)
      throw context.fail('not_found', `There is no ${type} ${id} that can call anything now; see ${LISTS[type]}.`);
    const data: { tool: string; verdict: Judged['verdict']; rule: string }[] = [];
    for (const { tool } of context.server.catalog.entries) {
      if (tool.doorOnly || tool.discovery || tool.serves) continue;
      const judged = await judgeHolder(holder, tool, undefined, context);
      if (judged) data.push({ tool: tool.name, ...judged });
    }
    return { subject: { type, id, name: holder.name }, data };
  },
});

const LISTS: Readonly<Record<HolderType, string>> = {
  person: 'list_admin_users',
  key: 'list_api_keys',
  capsule: 'list_capsules',
  app: 'list_connected_apps',
  agent: 'list_agents',
  flow: 'list_flows',
};
const MEMBERS = Object.keys(ids).join(', ');

interface Judged {
  readonly verdict: 'allowed' | 'depends';
  readonly rule: string;
}

/** What a call is about: the record, and the arguments that name it. */
interface About {
  readonly id: string;
  readonly member: string | undefined;
  readonly given: Readonly<Record<string, unknown>>;
}

async function judgeHolder(
  holder: Holder,
  tool: Tool,
  about: About | undefined,
  judging: Judging,
): Promise<Judged | undefined> {
  const way = holder.way(tool);
  if (way === undefined) return undefined;
  const found = about
    ? await judgeAbout(holder, tool, about, judging)
    : await judgeTool(holder.principal, tool, judging);
  if (found.verdict === 'denied') return undefined;
  const asks = asksFirst(holder.principal, tool, about?.given ?? {}) ? 'Each call waits for a person.' : '';
  const rule = holder.type === 'agent' || holder.type === 'flow' ? '' : found.rule;
  const narrowed = holder.principal.tools?.narrowed?.(tool) !== undefined;
  const words = [way, way && !narrowed ? '' : rule, asks].filter((each) => each !== '');
  return { verdict: found.verdict, rule: words.join(' ') };
}

async function judgeAbout(holder: Holder, tool: Tool, about: About, judging: Judging): Promise<Finding> {
  const { principal } = holder;
  const fixed = principal.tools?.fixed?.(tool) ?? {};
  const named = about.member === undefined ? undefined : fixed[about.member];
  if (named !== undefined && !(await isSame(named, about, tool, judging))) return DENIED;
  const calls = holder.fixed?.(tool).map((call) => (about.member === undefined ? undefined : call[about.member]));
  const mayMean = async (value: unknown) => isTemplate(value) || (await isSame(value, about, tool, judging));
  if (calls && !(await Promise.all(calls.map(mayMean))).some((each) => each)) return DENIED;
  const given = { ...about.given, ...fixed };
  const found = await judgeCall(principal, tool, given, judging);
  if (found.verdict !== 'allowed') return found;
  const input = await inputOf(principal, tool, given, judging);
  const refused = input && (await beyond(principal, tool, input, judging));
  if (refused) return refused;
  const isSure = (input !== undefined || !tool.authorize) && !(calls?.every(isTemplate) ?? false);
  return isSure ? found : { ...found, verdict: 'depends' };
}

const DENIED: Finding = { verdict: 'denied', rule: '' };

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && /\{[{%]/.test(value);
}

/** Whether the value names the record: by its id, or by a name that grants use. */
async function isSame(value: unknown, { id }: About, tool: Tool, { store, server }: Judging): Promise<boolean> {
  if (value === id) return true;
  const subjects = subjectsIn(store, server.kinds);
  const about = neededRights(tool.access).filter(({ parameter }) => parameter !== undefined);
  const found = await Promise.all(about.map(({ resource }) => subjects(resource, id)));
  return found.some(({ names }) => names.some((name) => name === value));
}

/** The arguments that name the record, as far as an id decides them. @throws ToolError if the tool is about no single record, or there is none */
async function inputAbout(
  tool: Tool,
  text: string,
  { store, server, fail }: Context<Readers, 'not_found'>,
): Promise<About> {
  const id = await idOf(text, store);
  const absent = (id: string) => fail('not_found', `There is no record ${id}; find it with search.`);
  const collection = collectionsOf(id);
  const stored = await Promise.all(collection.map((name) => store[name].get(id)));
  if (collection.length > 0 && stored.every((record) => record === undefined)) throw absent(id);
  const member = neededRights(tool.access).find(({ parameter }) => parameter !== undefined)?.parameter;
  if (member !== undefined && collection.length === 0 && !(await isNamed(tool, id, { store, server })))
    throw absent(id);
  if (member !== undefined) return { id, member, given: { [member]: id } };
  const kind = server.kinds.find((each) => collection.includes(each.collection));
  const byType = ['id', 'entityId'].find((name) => name in tool.input.shape);
  if (kind && byType && 'entityType' in tool.input.shape) {
    return { id, member: byType, given: { entityType: kind.type, [byType]: id } };
  }
  if ('among' in tool.access && byType && 'type' in tool.input.shape && kind) {
    return { id, member: byType, given: { type: kind.type, [byType]: id } };
  }
  throw invalidMember('id', `${tool.name} is not about one record that an id names; leave id out.`);
}

/** Whether a text that is no id names what the tool is about. The ids of imported users are those of another system. */
async function isNamed(tool: Tool, text: string, { store, server }: Judging): Promise<boolean> {
  const about = neededRights(tool.access).flatMap(({ resource, parameter }) => (parameter ? [resource] : []));
  if (about.includes('user')) return true;
  const found = await Promise.all(about.map((resource) => subjectsIn(store, server.kinds)(resource, text)));
  return found.some(({ record }) => record !== undefined);
}

async function idOf(text: string, store: Readers): Promise<string> {
  if (looksLikeId(text)) return text;
  const types = ['agent', 'skill', 'flow'] as const;
  const found = (await Promise.all(types.map((type) => recordsNamed(type, text, store)))).flat();
  return found.length === 1 && found[0] ? found[0].id : text;
}

function collectionsOf(id: string): CollectionName[] {
  const names = Object.keys(collections) as CollectionName[]; // its own keys
  return looksLikeId(id) ? names.filter((name) => id.startsWith(`${collections[name].idPrefix}_`)) : [];
}
