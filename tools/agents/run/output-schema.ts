import type { ModelMessage } from 'ai';
import { z } from 'zod';
import type { Issue } from '../../../resources/error.ts';
import { parseJson } from '../../../resources/json.ts';
import { ToolError } from '../../core/errors.ts';
import { NO_TOKENS, sumOfTokens } from '../../core/models/token-usage.ts';
import type { JsonSchema } from '../../core/registry/json-schema.ts';
import { formatPath, inputIssues } from '../../core/registry/validate.ts';
import { validationMessage } from '../../core/registry/validation-messages.ts';
import type { LoopOutcome } from './loop.ts';

/** The form that the caller wants for the answer. */
export interface OutputSchema {
  readonly json: JsonSchema;
  parse(value: unknown): z.ZodSafeParseResult<unknown>;
}

export const MOST_CHARACTERS = 20_000;
export const MOST_NODES = 200;
export const DEEPEST = 8;
export const TRIES = 3;

const typeName = z.enum(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
const plainValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const size = z.int().min(0).optional();

/** The parts of a schema. Patterns are not allowed, because some take endless time to match and these cannot be recognised. */
const part = z.strictObject({
  type: z.union([typeName, z.array(typeName).min(1)]).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).min(1).optional(),
  enum: z.array(plainValue).min(1).optional(),
  const: plainValue.optional(),
  minItems: size,
  maxItems: size,
  minLength: size,
  maxLength: size,
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});

/** @throws ToolError (invalid_input) if it is not a schema, or uses something that is not supported */
export function readOutputSchema(json: JsonSchema): OutputSchema {
  const issues = JSON.stringify(json).length > MOST_CHARACTERS ? [tooLarge()] : problemsIn(json);
  if (json.type !== 'object')
    issues.push({ path: 'outputSchema.type', message: 'An answer is an object; write "object".' });
  if (issues[0]) refuse(issues);
  const schema = z.fromJSONSchema(json as z.core.JSONSchema.BaseSchema); // every part was checked above
  return { json, parse: (value) => schema.safeParse(value, { error: validationMessage }) };
}

function refuse(issues: readonly Issue[]): never {
  throw new ToolError('invalid_input', `${issues[0]?.path}: ${issues[0]?.message}`, { issues: issues.slice(0, 20) });
}

function tooLarge(): Issue {
  return {
    path: 'outputSchema',
    message: `Is too large; give at most ${MOST_CHARACTERS} characters, ${MOST_NODES} parts and ${DEEPEST} levels.`,
  };
}

function problemsIn(root: JsonSchema): Issue[] {
  const issues: Issue[] = [];
  let nodes = 0;
  const visit = (node: unknown, path: readonly string[]): void => {
    nodes += 1;
    if (nodes > MOST_NODES || path.length > DEEPEST * 2) {
      if (issues.at(-1)?.message !== tooLarge().message) issues.push(tooLarge());
      return;
    }
    const problems = problemsOfPart(node, formatPath(path));
    issues.push(...problems);
    if (problems.length === 0)
      for (const [name, below] of partsOf(node as z.output<typeof part>)) visit(below, [...path, ...name]); // a part that was checked
  };
  visit(root, ['outputSchema']);
  return issues;
}

function problemsOfPart(node: unknown, place: string): Issue[] {
  return inputIssues(part, node).map(({ path, message }) => ({
    path: `${place}${/^(?:\[|$)/.test(path) ? '' : '.'}${path}`,
    message,
  }));
}

/** The schemas inside a schema, each with its path. */
function partsOf({ properties = {}, items, anyOf = [], additionalProperties }: z.output<typeof part>) {
  const parts = Object.entries(properties).map(([name, member]) => [['properties', name], member] as const);
  const others = anyOf.map((choice) => [['anyOf'], choice] as const);
  const open = typeof additionalProperties === 'boolean' ? undefined : additionalProperties;
  const single = Object.entries({ items, additionalProperties: open }).map(([name, value]) => [[name], value] as const);
  return [...parts, ...others, ...single.filter(([, value]) => value !== undefined)];
}

/** Runs the model until its answer has the form; each retry tells it the problem. @throws ToolError (unavailable) if no try has the form */
export async function answerIn(
  schema: OutputSchema | undefined,
  asked: readonly ModelMessage[],
  run: (messages: readonly ModelMessage[]) => Promise<LoopOutcome>,
): Promise<LoopOutcome & { readonly output: unknown }> {
  let messages = asked;
  let [steps, usage] = [0, NO_TOKENS];
  for (let attempt = 1; ; attempt++) {
    const outcome = await run(messages);
    if (!schema || outcome.waiting) return { ...outcome, output: undefined };
    steps += outcome.steps;
    usage = sumOfTokens(usage, outcome.usage);
    const parsed = schema.parse(valueIn(outcome.text));
    if (parsed.success) return { ...outcome, steps, usage, output: parsed.data };
    const problem = problemOf(parsed.error);
    if (attempt === TRIES || outcome.stopReason === 'max_steps') {
      throw new ToolError(
        'unavailable',
        `The model gave no answer that fits outputSchema (${problem}); try again or make it simpler.`,
      );
    }
    const content = `This does not fit the JSON Schema: ${problem}. Answer again with the JSON value alone.`;
    messages = [...outcome.messages, { role: 'user', content }];
  }
}

function problemOf({ issues }: z.ZodError): string {
  const [first] = issues;
  const place = formatPath(first?.path ?? []);
  return `${place ? `${place}: ` : ''}${first?.message ?? 'not JSON'}`;
}

/** The JSON value in the text. Models often put code marks or a sentence around it. */
function valueIn(text: string): unknown {
  const start = text.indexOf('{');
  const end = text.lastIndexOf('}');
  const whole = parseJson(text);
  return whole === undefined ? parseJson(text.slice(start, end + 1)) : whole;
}
