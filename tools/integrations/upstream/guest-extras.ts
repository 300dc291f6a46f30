import { z } from 'zod';
import type { IntegrationRecord, PromptDefinition, ResourceDefinition } from '../../../resources/integration.ts';
import { GUEST_SCOPES } from '../../core/access/scopes.ts';
import { ToolError } from '../../core/errors.ts';
import { defineTool, READS, type Tool } from '../../core/registry/define-tool.ts';
import { LISTS } from './connection.ts';
import type { UpstreamConnection } from './connection-pool.ts';
import { LISTED, shownResource } from './extras.ts';
import { type Asking, questionsIn } from './failure.ts';
import type { CallOptions, Offer } from './offered-tools.ts';
import { grantOf, labelOf } from './tool-definitions.ts';

/** Runs the work for a call of the tool, over the connection that its caller uses. */
export type RunCall = <Result>(
  tool: Tool,
  options: CallOptions,
  work: (
    upstream: UpstreamConnection,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ) => Promise<Result>,
) => Promise<Result>;

type Integration = Pick<IntegrationRecord, 'id' | 'name' | 'toolPrefix' | 'approvedPrompts' | 'approvedResources'>;

const LOOKS = { ...READS, openWorldHint: true } as const;
/** A list of resources is part of one list of many servers, so a slow server does not hold it up for long. */
const LIST_MS = 5000;
const LARGEST_PAGE = 1000;

/** The approved prompts and resources of an integration, each as an entry of the catalog that is not a tool to callers. */
export function extraOffers(integration: Integration, run: RunCall): Offer[] {
  const label = labelOf(integration);
  const { approvedPrompts = [], approvedResources = [] } = integration;
  const prompts = approvedPrompts.map((prompt) => ({
    key: `prompt ${prompt.name}`,
    hash: `${prompt.hash} ${label}`,
    make: () => promptTool(integration, prompt, run),
  }));
  if (approvedResources.length === 0) return prompts;
  const hash = `${approvedResources.map((each) => each.hash).join()} ${label}`;
  return [
    ...prompts,
    { key: 'list', hash, make: () => listTool(integration, run) },
    { key: 'read', hash, make: () => readTool(integration, run) },
  ];
}

/** The part of names and addresses here that says which integration they are of. */
function uriPrefixOf({ id, toolPrefix }: Pick<IntegrationRecord, 'id' | 'toolPrefix'>): string {
  return toolPrefix || id;
}

const message = z.object({ role: z.string(), content: z.unknown() });

function promptTool(integration: Integration, prompt: PromptDefinition, run: RunCall): Tool {
  const { name, title, description, arguments: takes } = prompt;
  const shape = takes.map((argument) => {
    const text = z.string().max(20_000);
    return [argument.name, argument.required ? text : text.optional()] as const;
  });
  const label = labelOf(integration);
  const tool: Tool = defineTool({
    name: `${uriPrefixOf(integration)}__prompts/${name}`,
    title: title ?? name,
    description: description ?? `A prompt of the integration ${label}, which says nothing about it.`,
    access: { scope: GUEST_SCOPES.reads, grant: grantOf(integration, `prompts/${name}`) },
    guest: true,
    serves: { kind: 'prompt', name: `${uriPrefixOf(integration)}__${name}`, title, description, arguments: takes },
    annotations: LOOKS,
    input: z.strictObject(Object.fromEntries(shape)),
    output: z.object({ description: z.string().optional(), messages: z.array(message) }),
    errors: ['conflict', 'too_large'],

    handler: (input: object, options: CallOptions) =>
      run(tool, options, async ({ connection, listed, scrubber }, { signal, timeoutMs }) => {
        if (!listed.extras.prompts.some((other) => other.name === name && other.hash === prompt.hash))
          throw gone(label);
        const { questions } = options;
        const result = await connection.getPrompt({ name, input, signal, timeoutMs, questions });
        return answerOf(result, promptResult, { label, scrubber, questions });
      }),
  });
  return tool;
}

const promptResult = z.object({ description: z.string().optional(), messages: z.array(message).max(1000) });
const resource = z.object({
  uri: z.string(),
  name: z.string(),
  title: z.string().optional(),
  mimeType: z.string().optional(),
});

function listTool(integration: Integration, run: RunCall): Tool {
  const tool: Tool = defineTool({
    ...resourceMeaning(integration, 'list'),
    input: z.strictObject({ cursor: z.string().max(2000).optional() }),
    output: z.object({ resources: z.array(resource), nextCursor: z.string().nullable() }),

    handler: async ({ cursor }: { readonly cursor?: string | undefined }, options: CallOptions) => {
      if (!(integration.approvedResources ?? []).some(({ uriTemplate }) => uriTemplate === LISTED)) return NOTHING;
      return run(tool, options, async ({ connection, scrubber }, { signal }) => {
        const page = await connection.page(LISTS.resources, { cursor, signal, timeoutMs: LIST_MS });
        const resources = page.items.slice(0, LARGEST_PAGE).flatMap((item) => shownResource(item, scrubber));
        return { resources, nextCursor: page.nextCursor ?? null };
      });
    },
  });
  return tool;
}

const NOTHING = { resources: [], nextCursor: null };

const content = z.looseObject({
  uri: z.string(),
  mimeType: z.string().optional(),
  text: z.string().optional(),
  blob: z.string().optional(),
});
const readResult = z.object({ contents: z.array(content).max(1000) });

function readTool(integration: Integration, run: RunCall): Tool {
  const label = labelOf(integration);
  const tool: Tool = defineTool({
    ...resourceMeaning(integration, 'read'),
    input: z.strictObject({ uri: z.string().min(1).max(2000) }),
    output: readResult,

    handler: ({ uri }: { readonly uri: string }, options: CallOptions) =>
      run(tool, options, async ({ connection, scrubber }, { signal, timeoutMs }) => {
        const { questions } = options;
        const result = await connection.readResource({ uri, signal, timeoutMs, questions });
        return answerOf(result, readResult, { label, scrubber, questions });
      }),
  });
  return tool;
}

function resourceMeaning(integration: Integration, verb: 'list' | 'read') {
  const { approvedResources = [] } = integration;
  const templates: readonly ResourceDefinition[] = approvedResources.filter(
    ({ uriTemplate }) => uriTemplate !== LISTED,
  );
  const label = labelOf(integration);
  return {
    name: `${uriPrefixOf(integration)}__resources/${verb}`,
    title: `Resources of ${label}`,
    description: `The resources of the integration ${label}.`,
    access: { scope: GUEST_SCOPES.reads, grant: grantOf(integration, 'resources') },
    guest: true,
    serves: { kind: 'resources', verb, prefix: uriPrefixOf(integration), templates },
    annotations: LOOKS,
    errors: ['conflict', 'too_large'],
  } as const;
}

/** The result, unless it asks a person. @throws ToolError */
function answerOf<Result>(result: unknown, schema: z.ZodType<Result>, asking: Asking): Result {
  const asked = questionsIn(result, asking);
  if (asked) throw asked;
  return asking.scrubber.json(schema.parse(result)) as Result; // scrubbing keeps the shape
}

function gone(label: string): ToolError {
  return new ToolError('unavailable', `The integration ${label} does not offer this prompt now; see prompts/list.`);
}
