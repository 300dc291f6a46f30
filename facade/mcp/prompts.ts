import { INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { Skill } from '../../resources/skill.ts';
import type { RequestContext } from '../http/request-context.ts';
import { callTool, type McpDeps } from './calls.ts';
import { callGuest, guestPrompts, shownPrompt } from './guests.ts';
import { isObject, RpcError } from './message.ts';
import { callOwn, toolFailure, visibleTools } from './resources.ts';

type Members = Readonly<Record<string, unknown>>;
type RegistryOnly = Pick<McpDeps, 'registry'>;

const PAGE = 100;

const promptArguments = [{ name: 'input', description: 'What to apply the skill to.', required: false }];

/** `prompts/list`: the skills that have instructions, and after them the prompts of integrations. */
export async function listPrompts(
  { registry }: RegistryOnly,
  context: RequestContext,
  { cursor }: Members,
): Promise<Result> {
  const { principal } = context;
  const guests = guestPrompts(registry, principal).map(({ serves }) => shownPrompt(serves));
  if (!visibleTools(registry, principal).has('list_skills')) return { prompts: guests };
  const page = await skillPage(registry, context, { limit: PAGE, ...(cursor !== undefined && { cursor }) });
  const { data, nextCursor } = page;
  const prompts = data.filter(hasInstructions).map(promptOf);
  return nextCursor === null ? { prompts: [...prompts, ...guests] } : { prompts, nextCursor };
}

/** `prompts/get`: a skill by name or id, or a prompt of an integration. */
export async function getPrompt({ registry }: RegistryOnly, context: RequestContext, params: Members): Promise<Result> {
  const guest = findGuest(registry, context, params.name);
  if (guest) {
    const input = isObject(params.arguments) ? params.arguments : {};
    return callGuest(registry, context, { tool: guest.tool, input, failure: toolFailure });
  }
  const skill = await findSkill(registry, context, readName(params));
  const input = readInput(params);
  const texts = [skill.instructions, ...(input === undefined ? [] : [input])];
  return {
    ...(skill.description !== undefined && { description: skill.description }),
    messages: texts.map((text) => ({ role: 'user', content: { type: 'text', text } })),
  };
}

export async function findPrompt(registry: McpDeps['registry'], context: RequestContext, name: unknown) {
  const guest = findGuest(registry, context, name);
  if (guest) return shownPrompt(guest.serves);
  return promptOf(await findSkill(registry, context, readName({ name })));
}

function findGuest(registry: McpDeps['registry'], context: RequestContext, name: unknown) {
  return guestPrompts(registry, context.principal).find(({ serves }) => serves.name === name);
}

async function findSkill(registry: McpDeps['registry'], context: RequestContext, name: string) {
  const id = (await idOfSkill(registry, context, name)) ?? name;
  const answer = await callTool(registry, context, { name: 'get_skill', arguments: { id } });
  if (!answer.ok) throw toolFailure(answer.error);
  const skill = answer.output as Skill; // declared by get_skill
  if (hasInstructions(skill)) return skill;
  throw new RpcError(INVALID_PARAMS, 'This skill has no instructions, so there is no prompt to make of it.');
}

function readName({ name }: Members): string {
  if (typeof name === 'string') return name;
  throw new RpcError(INVALID_PARAMS, 'Invalid params: name is the name or the id of a skill.');
}

function readInput({ arguments: given = {} }: Members): string | undefined {
  const { input, ...others } = isObject(given) ? given : { others: given };
  if ((input !== undefined && typeof input !== 'string') || Object.keys(others).length > 0) {
    throw new RpcError(INVALID_PARAMS, 'Invalid params: arguments has no member but input, a text.');
  }
  return input;
}

/** Undefined if the caller sees no skill of this name. It may be an id then. */
async function idOfSkill(
  registry: McpDeps['registry'],
  context: RequestContext,
  name: string,
): Promise<string | undefined> {
  const answer = await callOwn(registry, context, 'list_skills', { name, limit: 1 });
  if (!answer.ok) return undefined;
  // Where the name is fixed for the caller, the answer may be another skill than the requested one.
  return (answer.output as SkillPage).data.find((skill) => skill.name === name)?.id;
}

async function skillPage(registry: McpDeps['registry'], context: RequestContext, input: Members): Promise<SkillPage> {
  const answer = await callOwn(registry, context, 'list_skills', input);
  if (!answer.ok) throw toolFailure(answer.error);
  return answer.output as SkillPage; // declared by list_skills
}

interface SkillPage {
  readonly data: readonly Skill[];
  readonly nextCursor: string | null;
}

function hasInstructions(skill: Skill): skill is Skill & { readonly instructions: string } {
  return skill.instructions !== undefined && skill.instructions !== '';
}

function promptOf({ name, displayName, description }: Skill) {
  return {
    name,
    ...(displayName !== undefined && { title: displayName }),
    ...(description !== undefined && { description }),
    arguments: promptArguments,
  };
}
