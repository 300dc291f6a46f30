/** The part of JSON Schema that tools use, with the hints that the dashboard asks for. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly (string | number)[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  /** The kind of record that an id refers to. */
  readonly 'x-ref'?: string;
  /** The control that fits: code, secret, timezone, cron, model, tools. */
  readonly 'x-control'?: string;
  /** What people read in place of the values of an enumeration. */
  readonly 'x-words'?: Readonly<Record<string, string>>;
  /** What the button says that asks for a group which need not be there. */
  readonly 'x-add'?: string;
}

const NULL = (schema: JsonSchema) => schema.type === 'null';

/** The schema without null, and whether null was allowed: it clears an optional member. */
export function withoutNull(schema: JsonSchema): { readonly schema: JsonSchema; readonly nullable: boolean } {
  if (!schema.anyOf?.some(NULL)) return { schema, nullable: false };
  const rest = schema.anyOf.filter((option) => !NULL(option));
  const { anyOf: _, ...around } = schema;
  const [only] = rest;
  return { schema: rest.length === 1 && only ? { ...around, ...only } : { ...around, anyOf: rest }, nullable: true };
}

export function isObjectSchema({ type, properties }: JsonSchema): boolean {
  return type === 'object' && properties !== undefined;
}

/** The member whose only allowed value tells the alternatives of a union apart, as `kind` does. */
export function discriminator(options: readonly JsonSchema[]): string | undefined {
  const [first] = options;
  return Object.keys(first?.properties ?? {}).find((name) =>
    options.every((option) => onlyValue(option.properties?.[name]) !== undefined),
  );
}

export function onlyValue(schema: JsonSchema | undefined): string | undefined {
  if (schema?.const !== undefined) return String(schema.const);
  return schema?.enum?.length === 1 ? String(schema.enum[0]) : undefined;
}

/** The input of a list tool by which it searches. */
export function searchMemberOf(members: JsonSchema['properties']): string | undefined {
  return ['search', 'q'].find((name) => members?.[name] !== undefined);
}
