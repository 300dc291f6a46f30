import { z } from 'zod';
import type { Issue } from '../../resources/error.ts';
import type { FlowStep } from '../../resources/flow.ts';
import { formHints, recordNames } from '../../resources/markers.ts';
import type { ServerFacts } from '../core/registry/context.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { looksLikeId } from '../core/registry/record-names.ts';
import { missingRecord, type ReferenceCaller } from '../core/registry/references.ts';
import { formatPath, objectAt, unknownMemberAt, unwrap } from '../core/registry/validate.ts';
import { textsIn } from './definition-texts.ts';
import { isTemplate } from './templates.ts';

/** Arguments with templates that the tool does not take. Their values are known only when the flow runs, their names are known now. */
export function unknownArguments({ input, aliases = {} }: Tool, step: FlowStep): Issue[] {
  return templatesIn(step.arguments).flatMap(({ path }) => {
    const found = Object.hasOwn(aliases, String(path[0])) ? undefined : unknownMemberAt(input, path);
    return found ? [{ path: formatPath(['arguments', ...found.path]), message: found.message }] : [];
  });
}

/** Arguments of steps that name records which are not there for the writer, who has the rights that the steps need. */
export async function missingRecords(steps: readonly FlowStep[], caller: RecordDeps): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const [index, step] of steps.entries()) {
    const tool = caller.server.catalog.get(step.tool)?.tool;
    const missing = tool ? await missingIn(tool, step, caller) : [];
    issues.push(...missing.map(({ path, message }) => ({ path: `steps[${index}].${path}`, message })));
  }
  return issues;
}

interface RecordDeps extends ReferenceCaller {
  readonly server: Pick<ServerFacts, 'catalog' | 'kinds'>;
}

async function missingIn({ input }: Tool, step: FlowStep, caller: ReferenceCaller): Promise<Issue[]> {
  const issues: Issue[] = [];
  for (const [name, value] of Object.entries(step.arguments)) {
    const schema = input.shape[name];
    const type = hintOf(schema);
    if (type === undefined) continue;
    for (const id of [value].flat()) {
      if (typeof id !== 'string' || isTemplate(id) || !(looksLikeId(id) || takesName(schema))) continue;
      const message = await missingRecord(caller, type, id);
      if (message !== undefined) issues.push({ path: formatPath(['arguments', name]), message });
    }
  }
  return issues;
}

/** The type of the records whose ids the argument takes. */
function hintOf(schema: unknown): string | undefined {
  const bare = unwrap(schema);
  const inner = bare instanceof z.ZodArray ? unwrap(bare.element) : undefined;
  const schemas = [schema, bare, inner].filter((one) => one instanceof z.ZodType);
  const types = schemas.map((one) => formHints.get(one)?.ref ?? recordNames.get(one)?.names);
  return types.find((type) => type !== undefined);
}

/** A name that some agent has was made its id before. */
function takesName(schema: unknown): boolean {
  return [schema, unwrap(schema)].some((one) => one instanceof z.ZodType && recordNames.get(one)?.names === 'agent');
}

/** @throws Error where a template gave nothing, and the tool requires a value there */
export function requireFilled({ input }: Tool, step: FlowStep, filled: object): void {
  for (const { path, text } of templatesIn(step.arguments)) {
    const value = valueAt(filled, path);
    if (value !== null && (typeof value !== 'string' || value.trim() !== '')) continue;
    if (!isRequired(input, path, value)) continue;
    const place = formatPath(['arguments', ...path]);
    throw new Error(
      `${place}: the template ${JSON.stringify(text.slice(0, 100))} gives nothing, and ${place} is required; give it a default, as in {{ … | default: "none" }}, or a condition to the step.`,
    );
  }
}

function isRequired(schema: z.ZodType, path: readonly PropertyKey[], value: unknown): boolean {
  const owner = objectAt(schema, path.slice(0, -1));
  const member = owner?.shape[String(path.at(-1))];
  if (!(member instanceof z.ZodType)) return false;
  return !member.safeParse(undefined).success && !(value === null && member.safeParse(null).success);
}

function templatesIn(given: object) {
  return textsIn(given, []).filter(({ text }) => isTemplate(text));
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, part) => (inner as Record<PropertyKey, unknown> | undefined)?.[part], value); // templates change leaves alone
}
