import { z } from 'zod';
import { expectedRevision, namePart, pageOf, paging, plainLine, recordId, sortBy } from '../resources/fields.ts';
import { orNameOf, refTo } from '../resources/markers.ts';
import { type Skill, skill, skillFields } from '../resources/skill.ts';
import type { Readers } from '../store/port.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { mayReadAgent, requireSteeringAll } from './core/access/steering.ts';
import { withoutBookkeeping } from './core/history/history.ts';
import type { Context } from './core/registry/context.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage, textFilter } from './core/registry/paging.ts';
import { looksLikeId } from './core/registry/record-names.ts';

const skillId = orNameOf('skill', refTo('skill', recordId)).describe('Skill id (`skl_…`) or name, see list_skills.');
const name = skillFields.name.refine((text) => !looksLikeId(text), 'A name may not look like an id.');

const listSkills = defineTool({
  name: 'list_skills',
  title: 'List skills',
  description:
    'List the skills agents can be given, newest first, optionally by name or part of it. Returns a page with `nextCursor`.',
  keywords: 'abilities, procedures, playbooks, know-how of agents, prompt library',
  access: { scope: 'skills:read', grant: 'skill:read', narrows: true, selects: { name: 'name' } },
  annotations: READS,
  input: z.strictObject({
    name: skillFields.name.optional(),
    q: namePart.describe('Part of name or displayName, ignoring case.'),
    ...sortBy('name', 'displayName'),
    ...paging,
  }),
  output: pageOf(skill),
  errors: [],

  handler({ name, q, ...input }, { store, principal }) {
    const any = whereAllowed<Skill>(principal.rights.limitedTo('skill', 'read'), 'id');
    const part = textFilter<Skill>(q, 'name', 'displayName');
    return listPage(store.skills, input, { where: { name }, any, part }, (record) => record);
  },
});

const getSkill = defineTool({
  name: 'get_skill',
  title: 'Get skill',
  description: 'Read one skill with its instructions.',
  keywords: 'read instructions, open a procedure, playbook text',
  access: { scope: 'skills:read', grant: 'skill:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: skillId }),
  output: skill,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.skills.read(id),
});

const createSkill = defineTool({
  name: 'create_skill',
  title: 'Create skill',
  description: 'Create a skill: instructions that agents share. Returns it; give its id to agents in `skillIds`.',
  keywords:
    'teach an agent, new procedure, playbook, how-to, standard operating procedure, reusable instructions, prompt template, write down how to do something, teach the assistant, add knowledge of how we work',
  access: { scope: 'skills:write', grant: 'skill:write' },
  annotations: CREATES,
  input: z.strictObject({
    name: name.describe('Unique.'),
    displayName: plainLine(skillFields.displayName).optional(),
    description: skillFields.description.optional(),
    instructions: skillFields.instructions.optional(),
  }),
  output: skill,
  errors: ['conflict'],

  handler: (input, { store }) => store.skills.insert(input),
});

const updateSkill = defineTool({
  name: 'update_skill',
  title: 'Update skill',
  description: 'Change fields of a skill; null clears an optional one. Returns the skill. History keeps the old state.',
  keywords: 'correct instructions, edit a playbook, improve a procedure',
  access: { scope: 'skills:write', grant: 'skill:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: skillId,
    name: name.optional(),
    displayName: plainLine(skillFields.displayName).nullable().optional(),
    description: skillFields.description.nullable().optional(),
    instructions: skillFields.instructions.nullable().optional(),
    expectedRevision,
  }),
  output: skill,
  errors: ['not_found', 'conflict'],

  async authorize({ id, ...change }, context) {
    const current = await context.store.skills.get(id);
    if (current) await requireSteeringUsers(current, change, context);
  },

  async handler({ id, expectedRevision, ...change }, context) {
    const { store } = context;
    return store.skills.update(id, change, { expectedRevision });
  },
});

const deleteSkill = defineTool({
  name: 'delete_skill',
  title: 'Delete skill',
  description: 'Delete a skill that no agent uses; restore_version brings it back.',
  keywords: 'unlearn a procedure, remove a playbook',
  access: { scope: 'skills:write', grant: 'skill:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: skillId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, { store, principal, fail }) {
    await requireUnused({ store, principal, fail }, id);
    await store.skills.delete(id, { expectedRevision });
    return {};
  },
});

type Text = { readonly [Member in 'instructions' | 'description']?: string | null | undefined };

/** A changed text steers the agents that use the skill. @throws ToolError (forbidden) */
async function requireSteeringUsers(
  current: Skill,
  change: Text,
  context: Parameters<typeof requireSteeringAll>[0],
): Promise<void> {
  const members = ['instructions', 'description'] as const;
  const changed = members.some(
    (member) => change[member] !== undefined && change[member] !== (current[member] ?? null),
  );
  if (changed) await requireSteeringAll(context, { skillIds: current.id });
}

/** @throws an error that names the agents that use the skill, if the caller may read them. */
async function requireUnused(
  { store, principal, fail }: Pick<Context<Readers, 'conflict'>, 'store' | 'principal' | 'fail'>,
  id: string,
): Promise<void> {
  const users = await store.agents.find({ where: { skillIds: id, status: ['active', 'paused'] }, limit: 10 });
  if (users.records.length === 0) return;
  const known = users.records.filter((agent) => mayReadAgent(principal, agent));
  const names = known.map((agent) => `${agent.name} (${agent.id})`);
  if (known.length < users.records.length || users.next) names.push(known.length > 0 ? 'more' : 'agents');
  const named = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names.join();
  throw fail('conflict', `The skill is used by ${named}; take it out of their skillIds first.`);
}

export const skillTools = [listSkills, getSkill, createSkill, updateSkill, deleteSkill];

export const skillKind = defineKind({
  type: 'skill',
  collection: 'skills',
  list: listSkills,
  get: getSkill,
  update: updateSkill,
  delete: deleteSkill,
  history: {
    text: 'instructions',
    payload: withoutBookkeeping,

    async authorizeRestore({ instructions = null, description = null }, current, context) {
      if (current) await requireSteeringUsers(current, { instructions, description }, context);
    },
  },

  async purge(id, context) {
    await requireUnused(context, id);
    return context.store.purge('skills', id);
  },
});
