import { labelOf } from '../../../format.ts';
import { type JsonSchema, withoutNull } from '../../../schema.ts';

/** Something that a run knows when a step begins, and what is inside it. */
export interface DataNode {
  readonly label: string;
  /** As templates and conditions name it: `steps.all.output.data[0].name`. */
  readonly path: string;
  readonly kind: 'text' | 'number' | 'yes or no' | 'list' | 'group' | 'value';
  /** What it was the last time, shortened. */
  readonly sample?: string | undefined;
  readonly children: readonly DataNode[];
}

interface NodeInput {
  readonly label: string;
  readonly path: string;
  readonly schema?: JsonSchema | undefined;
  readonly sample?: unknown;
}

const DEEPEST = 5;
const MOST_MEMBERS = 60;

/** What an answer or input holds: as its schema says, and as it was the last time. */
export function dataTree(input: NodeInput, depth = 0): DataNode {
  const { label, path, sample } = input;
  const schema = plainSchema(input.schema, sample);
  const list = Array.isArray(sample) || schema?.type === 'array';
  const children = depth >= DEEPEST ? [] : list ? itemOf(input, schema, depth) : membersOf(input, schema, depth);
  return {
    label,
    path,
    kind: list ? 'list' : kindOf(schema, sample),
    ...(sample !== undefined && { sample: sampleText(sample) }),
    children,
  };
}

/** The schema itself. Of `anyOf`: the alternative that has members, else the first one. */
function plainSchema(given: JsonSchema | undefined, sample: unknown): JsonSchema | undefined {
  if (!given) return undefined;
  const { schema } = withoutNull(given);
  if (!schema.anyOf) return schema;
  const wanted = Array.isArray(sample) ? 'array' : typeof sample;
  return (
    schema.anyOf.find(({ type }) => type === wanted) ??
    schema.anyOf.find(({ type }) => type === 'object') ??
    schema.anyOf[0]
  );
}

function itemOf({ path, sample }: NodeInput, schema: JsonSchema | undefined, depth: number): DataNode[] {
  const [first] = Array.isArray(sample) ? sample : [];
  if (schema?.items === undefined && first === undefined) return [];
  return [
    dataTree({ label: 'First of the list', path: `${path}[0]`, schema: schema?.items, sample: first }, depth + 1),
  ];
}

function membersOf({ path, sample }: NodeInput, schema: JsonSchema | undefined, depth: number): DataNode[] {
  const seen: Readonly<Record<string, unknown>> = isRecord(sample) ? sample : {};
  const names = [...new Set([...Object.keys(schema?.properties ?? {}), ...Object.keys(seen)])];
  return names.slice(0, MOST_MEMBERS).map((name) => {
    const member = schema?.properties?.[name];
    const inner = { label: member?.title ?? labelOf(name), path: `${path}${memberOf(name)}`, schema: member };
    return dataTree({ ...inner, sample: Object.hasOwn(seen, name) ? seen[name] : undefined }, depth + 1);
  });
}

/** As both templates and conditions write it. */
function memberOf(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(schema: JsonSchema | undefined, sample: unknown): DataNode['kind'] {
  if (isRecord(sample) || schema?.type === 'object' || schema?.properties) return 'group';
  const type = schema?.type ?? typeof sample;
  if (type === 'boolean') return 'yes or no';
  if (type === 'number' || type === 'integer') return 'number';
  return type === 'string' ? 'text' : 'value';
}

const LONGEST_SAMPLE = 60;

function sampleText(sample: unknown): string {
  const text = typeof sample === 'string' ? sample : JSON.stringify(sample);
  return text.length > LONGEST_SAMPLE ? `${text.slice(0, LONGEST_SAMPLE)}…` : text;
}

/** The nodes whose name, path or sample contains the text, with what leads to them. */
export function found(nodes: readonly DataNode[], text: string): readonly DataNode[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return nodes;
  return nodes.flatMap((node) => {
    if (`${node.label} ${node.path} ${node.sample ?? ''}`.toLowerCase().includes(wanted)) return [node];
    const children = found(node.children, text);
    return children.length > 0 ? [{ ...node, children }] : [];
  });
}

/** As a template inserts it into a text: what is no text or number is written as JSON. `alone`: it is the whole value, whose type stays. */
export function templateFor({ path, kind }: Pick<DataNode, 'path' | 'kind'>, alone: boolean): string {
  const isPlain = alone || (kind !== 'list' && kind !== 'group');
  return `{{ ${path}${isPlain ? '' : ' | json'} }}`;
}
