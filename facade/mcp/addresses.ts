import type { SearchDefinition } from '../../store/collection-definition.ts';
import { collections } from '../../store/collections.ts';
import { type Kind, readingTool } from '../../tools/core/registry/define-kind.ts';
import type { Tool } from '../../tools/core/registry/tool.ts';
import { kinds } from '../../tools/kinds.ts';

/** How the records of one kind are addressed as MCP resources, and by which tools they are read and listed. */
export interface Address {
  /** Its variables are inputs of the read tool. A template without variables is the address of the only record of its kind. */
  readonly uriTemplate: string;
  readonly title: string;
  readonly description: string;
  /** Undefined if each record names its own type in `mimeType`. */
  readonly mimeType: string | undefined;
  readonly collection: string;
  readonly sees?: Kind['sees'];
  /** Member that holds the text to read, and that with bytes in base64; without them the whole record is read as JSON. */
  readonly text?: string;
  readonly blob?: string;
  readonly readTool: string;
  /** The tool of those to whom templates show such addresses. */
  readonly shownWith: string;
  /** Undefined if the records are only read by an address known from elsewhere. */
  readonly listTool: string | undefined;
  /** Member that a list shows as the name of the record. */
  readonly label: string;
  /** By variable: the list of the records whose ids it takes, and the member by which people know them. */
  readonly completions: Readonly<Record<string, Completion>>;
}

interface Completion {
  readonly listTool: string;
  readonly label: string;
}

export const addresses: readonly Address[] = kinds.flatMap((kind) =>
  kind.get && kind.address !== 'none' ? [addressOf(kind, kind.get, kind.address)] : [],
);

function addressOf(kind: Kind, get: Tool, given: Exclude<Kind['address'], 'none'> = {}): Address {
  const { type, collection, list, sees } = kind;
  const title = `${type.charAt(0).toUpperCase()}${type.slice(1).replaceAll('-', ' ')}`;
  const variables = [...new Set([ownerOf(kind)?.field ?? 'id', 'id'])].filter((name) => name in get.input.shape);
  const completions = variables.flatMap((name) => {
    const completion = completionOf(kind, name);
    return completion ? [[name, completion] as const] : [];
  });
  return {
    uriTemplate: `${type}://${variables.map((name) => `{${name}}`).join('/')}`,
    title,
    description: `${given.title ?? title} as JSON, as ${get.name} answers it.`,
    mimeType: 'application/json',
    collection,
    ...(sees && { sees }),
    readTool: get.name,
    shownWith: (readingTool(kind) ?? get).name,
    // A list within an owner is not a list of all records.
    listTool: list && variables.some((name) => name in list.input.shape) ? undefined : list?.name,
    label: labelOf(kind),
    completions: Object.fromEntries(completions),
    ...given,
  };
}

/** The ids of a variable are those of the owner that it names, or else of the records themselves. */
function completionOf(kind: Kind, variable: string): Completion | undefined {
  const owner = ownerOf(kind);
  const listed = owner?.field === variable ? kinds.find(({ collection }) => collection === owner.collection) : kind;
  return listed?.list && { listTool: listed.list.name, label: labelOf(listed) };
}

function ownerOf({ collection }: Kind): SearchDefinition<never>['owner'] {
  return collections[collection].search?.owner;
}

function labelOf({ collection, address }: Kind): string {
  const label = address === 'none' ? undefined : address?.label;
  return label ?? collections[collection].search?.title.at(-1) ?? 'id';
}
