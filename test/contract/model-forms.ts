interface Node {
  readonly type?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Node[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Node;
  readonly format?: string;
}

export type Obstacle = 'open object' | 'optional members in a choice' | 'a form that is not plain';

const WORDS = ['description', 'title', 'default'];

/**
 * What keeps OpenAI's strict mode from taking the input schema as it is. Strict mode makes every optional member required and, where it
 * takes no null, gives it one, which is taken away from the call again: so it refuses objects whose members are not all named, and choices
 * between objects with such members. Rules of `@openai/agents` 0.20.
 */
export function strictObstacles(schema: object): Obstacle[] {
  const found = nodesOf(schema).flatMap((node): Obstacle[] => [
    ...(isOpen(node) ? ['open object' as const] : []),
    ...(node.anyOf?.some(losesNulls) ? ['optional members in a choice' as const] : []),
    ...(isPlainFor('strict', node) ? [] : ['a form that is not plain' as const]),
  ]);
  return [...new Set(found)];
}

/** What the older schema form of Gemini (`FunctionDeclaration.parameters`) cannot express: objects need members there, and times are the only dates. */
export function geminiObstacles(schema: object): Obstacle[] {
  const found = nodesOf(schema).flatMap((node): Obstacle[] => [
    ...(isOpen(node) ? ['open object' as const] : []),
    ...(isPlainFor('gemini', node) ? [] : ['a form that is not plain' as const]),
  ]);
  return [...new Set(found)];
}

const PLAIN = new Set(
  'type description title default enum anyOf items properties required additionalProperties minimum maximum format minItems maxItems minLength maxLength'.split(
    ' ',
  ),
);

/** One type, or a choice, in the words that every host knows. */
function isPlainFor(host: 'strict' | 'gemini', node: Node): boolean {
  const words = Object.keys(node);
  if (words.some((word) => !PLAIN.has(word))) return false;
  if (node.anyOf) return words.every((word) => word === 'anyOf' || WORDS.includes(word));
  if (typeof node.type !== 'string') return false;
  if (host === 'strict') return true;
  return (node.enum ?? []).every((value) => typeof value === 'string') && (node.format ?? 'date-time') === 'date-time';
}

function isOpen({ type, properties = {}, additionalProperties }: Node): boolean {
  if (type !== 'object' || additionalProperties === false) return false;
  return additionalProperties !== undefined || Object.keys(properties).length === 0;
}

function losesNulls(node: Node): boolean {
  if (node.anyOf) return node.anyOf.some(losesNulls);
  const { properties = {}, required = [], items } = node;
  const members = Object.entries(properties);
  if (members.some(([name, member]) => !required.includes(name) && !takesNull(member))) return true;
  return members.some(([, member]) => losesNulls(member)) || (items !== undefined && losesNulls(items));
}

function takesNull({ type, anyOf }: Node): boolean {
  return anyOf ? anyOf.some(takesNull) : type === undefined || [type].flat().includes('null');
}

function nodesOf(node: Node): Node[] {
  const { properties = {}, items, anyOf = [], additionalProperties } = node;
  const below = [...Object.values(properties), ...(items ? [items] : []), ...anyOf];
  if (typeof additionalProperties === 'object') below.push(additionalProperties);
  return [node, ...below.flatMap(nodesOf)];
}
