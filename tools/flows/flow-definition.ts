import { setImmediate } from 'node:timers/promises';
import { canonicalize } from 'json-canonicalize';
import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import type { Flow, FlowStep } from '../../resources/flow.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { requireFreshFor } from '../core/access/fresh-sign-in.ts';
import { isListed } from '../core/access/guarded-tool.ts';
import type { Principal } from '../core/access/principal.ts';
import { nearest } from '../core/access/similar-names.ts';
import { ToolError } from '../core/errors.ts';
import { secretsIn } from '../core/history/redact.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { ServerContext } from '../core/registry/context.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { formatPath, isAtOrIn, parseInput, withoutAliases } from '../core/registry/validate.ts';
import { type AnalyzedTexts, type FlowDefinition, textsIn } from './definition-texts.ts';
import { eventTypesOf } from './event-types.ts';
import { isTemplate, type Parsed, type Reference } from './expressions.ts';
import { scheduleProblem } from './schedule.ts';
import { outputProblem, unknownArguments } from './step-arguments.ts';

const MOST_ISSUES = 100;
/** Steps that are looked at before other calls run. */
const AT_ONCE = 5;

interface DefinitionDeps {
  readonly store: Pick<Readers, 'agents'>;
  readonly server: Pick<ServerContext, 'catalog' | 'kinds'>;
}

export async function definitionIssues(
  { trigger, steps, agentId, prompt }: FlowDefinition,
  texts: AnalyzedTexts,
  { store, server: { catalog, kinds } }: DefinitionDeps,
): Promise<Issue[]> {
  const issues: Issue[] = [];
  if (steps?.length && (agentId !== undefined || prompt !== undefined)) {
    issues.push({
      path: 'steps',
      message: 'A flow has steps, or an agentId and a prompt, not both; leave one of them out.',
    });
  }
  if (prompt !== undefined && agentId === undefined) {
    issues.push({ path: 'prompt', message: 'A prompt needs an agentId; give the agent that gets it.' });
  }
  if (trigger.kind === 'cron') {
    const problem = scheduleProblem(trigger.expression, trigger.timezone);
    if (problem) issues.push({ path: 'trigger.expression', message: `Not a schedule: ${problem.replace(/\.$/, '')}.` });
  }
  const eventTypes = trigger.kind === 'event' ? eventTypesOf(kinds).map(({ type }) => type) : [];
  if (trigger.kind === 'event' && !eventTypes.includes(trigger.type)) {
    const close = nearest(trigger.type, eventTypes, 3);
    const hint = close.length > 0 ? `similar ones: ${close.join(', ')}` : 'they are like agent.updated';
    issues.push({ path: 'trigger.type', message: `There is no event ${trigger.type}; ${hint}, see list_event_types.` });
  }
  if (agentId !== undefined) issues.push(...(await agentIssues(agentId, store)));
  if (texts.issues.length > 0) return [...issues, ...texts.issues];
  if (prompt !== undefined) issues.push(...referenceIssues(texts.template(prompt), 'prompt', new Map()));
  const before: EarlierSteps = new Map();
  for (const [index, step] of (steps ?? []).entries()) {
    if (issues.length >= MOST_ISSUES) break;
    if (index % AT_ONCE === AT_ONCE - 1) await setImmediate();
    issues.push(...stepIssues(step, `steps[${index}]`, before, { catalog, texts }));
    before.set(step.id, catalog.get(step.tool)?.tool);
  }
  return issues;
}

/** Runs act with the rights of the writer, who must have every right that the definition needs. @throws ToolError (forbidden) */
export async function requireRights(
  principal: Principal,
  { steps, agentId }: Pick<FlowDefinition, 'steps' | 'agentId'>,
  { store, catalog }: { readonly store: Pick<Readers, 'agents'>; readonly catalog: Catalog },
): Promise<void> {
  if (ACTING.includes(principal.type) && (steps?.length || agentId !== undefined)) {
    const message = `The ${principal.type} ${principal.name} acts for somebody and within limits that a run would not have; let that one change what the flow does.`;
    throw new ToolError('forbidden', 'Insufficient permissions', { issues: [{ path: '', message }] });
  }
  requireWithinRights(principal, { tools: { entries: (steps ?? []).map(({ tool }) => tool), catalog } });
  const agent = agentId === undefined ? undefined : await store.agents.get(agentId);
  if (!agent) return;
  const invoke = { resource: 'agent', op: 'invoke', ids: [agent.id, agent.name], record: agent };
  if (!principal.rights.allows({ scope: 'chat:write', needs: [invoke] })) {
    throw new ToolError('forbidden', 'Insufficient permissions', {
      required: { scope: 'chat:write', grant: `agent:invoke:${agent.id}` },
      issues: [{ path: 'agentId', message: 'You may not invoke this agent, so no flow of yours may.' }],
    });
  }
  requireFreshFor(principal, agent.tools ?? [], catalog);
}

/** The same before the definition is checked. A step that no flow can have is a mistake, not a matter of rights, and named with the others. */
export async function authorizeDefinition(
  principal: Principal,
  definition: Pick<FlowDefinition, 'steps' | 'agentId'>,
  deps: Parameters<typeof requireRights>[2],
): Promise<void> {
  const tools = (definition.steps ?? []).map((step) => deps.catalog.get(step.tool)?.tool);
  if (tools.every((tool) => tool && isUsable(tool))) await requireRights(principal, definition, deps);
}

/** Their limits end with the run of the agent or flow. */
const ACTING: readonly Principal['type'][] = ['agent', 'flow'];

async function agentIssues(id: string, store: Pick<Readers, 'agents'>): Promise<Issue[]> {
  const agent = await store.agents.get(id);
  if (agent && agent.status !== 'deleted') return [];
  const message = agent ? `The agent ${id} is deleted.` : `There is no agent ${id}; see list_agents.`;
  return [{ path: 'agentId', message }];
}

/** The tools of the steps before, by step id. Undefined if the tool does not exist. */
type EarlierSteps = Map<string, Tool | undefined>;

interface StepDeps {
  readonly catalog: Catalog;
  readonly texts: AnalyzedTexts;
}

function stepIssues(step: FlowStep, place: string, before: EarlierSteps, { catalog, texts }: StepDeps): Issue[] {
  const issues: Issue[] = [];
  if (before.has(step.id)) {
    issues.push({ path: `${place}.id`, message: `Another step has the id ${step.id}; ids are unique in a flow.` });
  }
  if (step.when !== undefined) issues.push(...referenceIssues(texts.condition(step.when), `${place}.when`, before));
  const tool = catalog.get(step.tool)?.tool;
  // For an unknown tool it is not known which arguments may be quoted in an error.
  if (!tool || !isUsable(tool)) return [...issues, unusable(step, place, catalog)];
  const secrets = writtenSecrets(tool, step.arguments, catalog);
  issues.push(...secrets.map((path) => ({ path: `${place}.${path}`, message: SECRET })));
  const templated: string[] = [];
  for (const { path, text } of textsIn(step.arguments, [])) {
    const name = formatPath(['arguments', ...path]);
    if (!isTemplate(text) || secrets.some((secret) => isAtOrIn(name, secret))) continue;
    templated.push(name);
    issues.push(...referenceIssues(texts.template(text), `${place}.${name}`, before));
  }
  const unknown = unknownArguments(tool, step).map(({ path, message }) => ({ path: `${place}.${path}`, message }));
  return [...issues, ...unknown, ...argumentIssues(tool, step, place, [...templated, ...secrets])];
}

const SECRET =
  'A secret cannot be written into a flow, nor taken from its input, which is kept; take it from the answer of an earlier step: {{ steps.<id>.output.<member> }}.';

/** Secrets written into the flow instead of taken from an earlier step: readers of the flow, its versions and runs would see them. */
function writtenSecrets(tool: Tool, given: object, catalog: Catalog): string[] {
  return secretsIn(tool, given, catalog)
    .filter(({ value }) => !leavesOf(value).every(isHarmless))
    .map(({ path }) => formatPath(['arguments', ...path]));
}

function isHarmless(leaf: unknown): boolean {
  return leaf === null || leaf === SECRET_MASK || (typeof leaf === 'string' && OUTPUT_OF_STEP.test(leaf));
}

/** A path to the output of a step and nothing else, because filters and text around it could contain a secret. */
const OUTPUT_OF_STEP = /^\s*\{\{-?\s*steps\.\w+\.output(?:\.[\w-]+|\[\d+\])*\s*-?\}\}\s*$/;

function isUsable(tool: Tool): boolean {
  return isListed(tool) && !tool.answersSecret && !tool.forPeople;
}

function unusable({ tool: name }: FlowStep, place: string, catalog: Catalog): Issue {
  const usable = catalog.entries.filter(({ tool }) => isUsable(tool));
  const names = usable.map(({ tool }) => tool.name);
  const close = nearest(name, names, 3);
  const problem = catalog.get(name) ? `${name} can never be in a flow` : 'There is no tool of this name';
  const hint = close.length > 0 ? `give another, such as ${close.join(', ')}` : 'search_tools finds names';
  return { path: `${place}.tool`, message: `${problem}; ${hint}.` };
}

/** Problems of those arguments that are known before the flow runs. */
function argumentIssues(tool: Tool, step: FlowStep, place: string, unknown: readonly string[]): Issue[] {
  try {
    parseInput(z.object({ arguments: tool.input }), { arguments: withoutAliases(tool, step.arguments) });
    return [];
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    const known = (thrown.detail.issues ?? []).filter(({ path }) => !unknown.some((name) => isAtOrIn(path, name)));
    return known.map(({ path, message }) => ({ path: `${place}.${path}`, message }));
  }
}

function referenceIssues({ references, problem }: Parsed, path: string, before: EarlierSteps): Issue[] {
  if (problem !== undefined) return [{ path, message: `It cannot be read (${problem}); write it in another way.` }];
  for (const reference of references) {
    const message = referenceProblem(reference, before);
    // Each message names all steps, so the first one is enough.
    if (message !== undefined) return [{ path, message }];
  }
  return [];
}

function referenceProblem([root, step, member, ...path]: Reference, before: EarlierSteps): string | undefined {
  if (root === 'input') return undefined;
  if (root !== 'steps') return `There is no ${root} here; there are \`steps\` and \`input\`.`;
  const there =
    before.size > 0 ? `the steps before this one are ${[...before.keys()].join(', ')}` : 'there is no step before this';
  if (step === undefined) return `Name the step, as in steps.<id>.output; ${there}.`;
  if (!before.has(step)) return `steps.${step} is not a step before this one; ${there}.`;
  if (member !== 'output') return `Of a step there is its output: steps.${step}.output.`;
  const tool = before.get(step);
  return tool && outputProblem(tool, path, `steps.${step}.output`);
}

function leavesOf(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [value];
}

type DefinitionChange = { readonly [Member in keyof FlowDefinition]?: FlowDefinition[Member] | null | undefined };

/** The definition after a change. Members that are not given stay; null clears. */
export function definitionOf(current: FlowDefinition, change: DefinitionChange): FlowDefinition {
  const steps = change.steps === undefined ? current.steps : change.steps;
  const agentId = change.agentId === undefined ? current.agentId : change.agentId;
  const prompt = change.prompt === undefined ? current.prompt : change.prompt;
  return {
    trigger: change.trigger ?? current.trigger,
    ...(steps && { steps }),
    ...(agentId && { agentId }),
    ...(prompt && { prompt }),
  };
}

export function sameDefinition(one: FlowDefinition, other: FlowDefinition): boolean {
  const text = ({ trigger, steps, agentId, prompt }: FlowDefinition) => canonicalize([trigger, steps, agentId, prompt]);
  return text(one) === text(other);
}

/** Whether its runs begin without a call of somebody who is asked who they are. */
export function startsAutomatically({ kind }: Pick<Flow['trigger'], 'kind'>): boolean {
  return kind !== 'manual';
}

/** Whether the change decides what a flow does that begins by itself. A change of its name, or of whether it runs, does not. */
export async function changesAutomaticRuns(
  { id, ...change }: DefinitionChange & { readonly id: string },
  { flows }: Pick<Readers, 'flows'>,
): Promise<boolean> {
  const current = await flows.get(id);
  const trigger = change.trigger ?? current?.trigger;
  if (trigger === undefined || !startsAutomatically(trigger)) return false;
  return current === undefined || !sameDefinition(current, definitionOf(current, change));
}
