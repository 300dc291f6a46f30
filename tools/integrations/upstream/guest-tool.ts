import { z } from 'zod';
import type { IntegrationRecord, ToolDefinition } from '../../../resources/integration.ts';
import { secret } from '../../../resources/markers.ts';
import type { Principal } from '../../core/access/principal.ts';
import { GUEST_SCOPES } from '../../core/access/scopes.ts';
import type { Progress, Questions } from '../../core/registry/call.ts';
import { defineTool, type Tool } from '../../core/registry/define-tool.ts';
import { declareJsonSchema, type JsonSchema } from '../../core/registry/json-schema.ts';
import { isSchemaObject } from './schema.ts';
import { grantOf, labelOf, shownName } from './tool-definitions.ts';
import { inputCheck } from './validate-input.ts';

/** The result of a tool call in MCP. */
export interface ToolContent {
  readonly content: unknown[];
  readonly structuredContent?: Record<string, unknown>;
}

export interface CallOptions {
  /** Who calls. Where each person has an account, it says whose is used. */
  readonly principal: Principal;
  readonly signal: AbortSignal | undefined;
  readonly report: (progress: Progress) => void;
  readonly questions: Questions | undefined;
}

/** Where a tool comes from and how it is called. */
export interface Origin {
  readonly integration: Pick<IntegrationRecord, 'id' | 'name' | 'toolPrefix'>;
  /** As the operator marked it. What the server says about this does not count. */
  readonly readOnly: boolean;
  /** `definition`: the definition the input was checked against. */
  call(definition: ToolDefinition, input: object, options: CallOptions): Promise<ToolContent>;
}

const output = z.object({
  content: z.array(z.unknown()),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

/** The effects of the tool are unknown, so the worst is assumed. */
const ACTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true } as const;
const LOOKS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true } as const;

/** Makes a tool of an integration into a tool of this server. */
export function guestTool(definition: ToolDefinition, origin: Origin): Tool {
  const { name, title, description, inputSchema } = definition;
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
  const handler = (input: object, { principal, signal, report, questions }: CallOptions) =>
    origin.call(definition, input, { principal, signal, report, questions });
  return readOnly
    ? defineTool({ ...meaning, annotations: LOOKS, handler })
    : defineTool({ ...meaning, annotations: ACTS, inSteps: true, handler });
}

/** A schema that knows the members by name, for the audit log. The integration's own schema checks them. */
function inputOf(schema: JsonSchema): z.ZodObject {
  const { properties, $defs: _, definitions: __, ...others } = schema;
  const members = Object.entries(isSchemaObject(properties) ? properties : {});
  const isSecret = secretTest(schema);
  const check = inputCheck(schema);
  const shape = members.map(([name, member]) => {
    const read = z.unknown().optional();
    return [name, isSecret(member) ? secret(read) : read];
  });
  const input = z
    .object(Object.fromEntries(shape))
    // Other keywords may allow further members whose names are unknown, so one secret among them makes all of them secret.
    .catchall(isSecret(others) ? secret(z.unknown()) : z.unknown())
    .check(({ value, issues }) => void issues.push(...check(value)));
  return declareJsonSchema(input, schema);
}

/**
 * Whether a part of the schema says that something in it is secret. Where the schema says so anywhere, a part with references counts as
 * secret too, because following every reference could take endless time.
 */
function secretTest(root: JsonSchema): (part: unknown) => boolean {
  if (!holds(root, saysSecret)) return () => false;
  return (part) => holds(part, (node) => saysSecret(node) || node.$ref !== undefined || node.$dynamicRef !== undefined);
}

function saysSecret({ writeOnly, format }: JsonSchema): boolean {
  return writeOnly === true || format === 'password';
}

function holds(node: unknown, test: (node: JsonSchema) => boolean): boolean {
  if (typeof node !== 'object' || node === null) return false;
  return (isSchemaObject(node) && test(node)) || Object.values(node).some((inner) => holds(inner, test));
}
