import { z } from 'zod';
import type { IntegrationRecord, ToolDefinition } from '../../../resources/integration.ts';
import { secret } from '../../../resources/markers.ts';
import { GUEST_SCOPES } from '../../access/scopes.ts';
import type { Progress } from '../../context.ts';
import { defineTool, type Tool } from '../../define-tool.ts';
import { declareJsonSchema, type JsonSchema } from '../../json-schema.ts';
import { problemsOf } from './check.ts';
import { grantOf, labelOf, shownName } from './definition.ts';
import { isSchemaObject, resolve } from './references.ts';

/** A tool result of MCP. */
export interface ToolContent {
  readonly content: unknown[];
  readonly structuredContent?: Record<string, unknown>;
}

export interface CallOptions {
  readonly signal: AbortSignal | undefined;
  readonly report: (progress: Progress) => void;
}

/** Where a tool comes from and what calls it. */
export interface Origin {
  readonly integration: Pick<IntegrationRecord, 'id' | 'name' | 'toolPrefix'>;
  /** As the operator marked it, whatever the upstream says. */
  readonly readOnly: boolean;
  call(name: string, input: object, options: CallOptions): Promise<ToolContent>;
}

const output = z.object({
  content: z.array(z.unknown()),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

/** What may happen in the world beyond is unknown, so it is taken for the worst. */
const ACTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true } as const;
const LOOKS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true } as const;

/** A tool of an upstream as a tool of this server. */
export function guestTool({ name, title, description, inputSchema }: ToolDefinition, origin: Origin): Tool {
  const { integration, readOnly } = origin;
  const meaning = {
    name: shownName(integration.toolPrefix, name),
    title: title || name,
    description: description || `A tool of the integration ${labelOf(integration)}, which says nothing about it.`,
    access: { scope: readOnly ? GUEST_SCOPES.reads : GUEST_SCOPES.writes, grant: grantOf(integration, name) },
    guest: true,
    answersContent: true,
    input: inputOf(inputSchema),
    output,
    errors: ['conflict', 'too_large'],
  } as const;
  const handler = (input: object, { signal, report }: CallOptions) => origin.call(name, input, { signal, report });
  return readOnly
    ? defineTool({ ...meaning, annotations: LOOKS, handler })
    : defineTool({ ...meaning, annotations: ACTS, inSteps: true, handler });
}

/** Knows the members by name, for the audit log, and checks them by the schema of the upstream. */
function inputOf(schema: JsonSchema): z.ZodObject {
  const { properties, $defs: _, definitions: __, ...others } = schema;
  const members = Object.entries(isSchemaObject(properties) ? properties : {});
  const shape = members.map(([name, member]) => [name, memberOf(member, schema)]);
  // Of members that other keywords name nothing here tells which is which.
  const other = holdsSecret(others, schema) ? secret(z.unknown()) : z.unknown();
  const input = z
    .object(Object.fromEntries(shape))
    .catchall(other)
    .check(({ value, issues }) => {
      for (const { path, message } of problemsOf(schema, value)) {
        issues.push({ code: 'custom', path: [...path], message, input: value });
      }
    });
  return declareJsonSchema(input, schema);
}

function memberOf(schema: unknown, root: JsonSchema): z.ZodType {
  const member = z.unknown().optional();
  return holdsSecret(schema, root) ? secret(member) : member;
}

/** Whether anything in it, or in what it refers to, is declared to be secret. */
function holdsSecret(node: unknown, root: JsonSchema, seen = new Set<unknown>()): boolean {
  if (typeof node !== 'object' || node === null || seen.has(node)) return false;
  seen.add(node);
  if (isSchemaObject(node)) {
    if (node.writeOnly === true || node.format === 'password') return true;
    if (typeof node.$ref === 'string' && holdsSecret(resolve(root, node.$ref), root, seen)) return true;
  }
  return Object.values(node).some((inner) => holdsSecret(inner, root, seen));
}
