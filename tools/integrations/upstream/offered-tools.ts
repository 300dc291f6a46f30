import { createHash } from 'node:crypto';
import type { IntegrationRecord, IntegrationTool, ToolDefinition } from '../../../resources/integration.ts';
import { globMatcher } from '../../core/access/allowlist.ts';
import type { CatalogEntry } from '../../core/registry/catalog-index.ts';
import type { Tool } from '../../core/registry/define-tool.ts';
import { type Extras, NO_EXTRAS } from './extras.ts';
import { guestTool, type Origin } from './guest-tool.ts';
import { grantOf, type Listing, labelOf, type RejectedTool, shownName } from './tool-definitions.ts';

/** Says which other holder has a tool name, in words for messages. Undefined if the name is free. */
export type NameHolder = (tool: string) => string | undefined;

/** The values that the settings of a tool's entry were made from. */
interface OfferedTool {
  readonly definition: ToolDefinition;
  readonly readOnly: boolean;
  readonly entry: CatalogEntry;
}

/**
 * The tools that an integration offers: the approved ones that, as far as is known, have not changed since. Before the first list arrives
 * and while the server is away, these are the tools that were approved or offered last.
 */
export class OfferedTools {
  readonly #call: Origin['call'];
  #made: ReadonlyMap<string, OfferedTool> = new Map();

  constructor(call: Origin['call']) {
    this.#call = call;
  }

  /** The tool with this definition, if it is offered now. */
  get({ name, hash }: Pick<ToolDefinition, 'name' | 'hash'>): Tool | undefined {
    const made = this.#made.get(name);
    return made?.definition.hash === hash ? made.entry.tool : undefined;
  }

  /** The catalog entries. Tools that have not changed keep the same entry objects. */
  entries(record: IntegrationRecord, listing: Listing | undefined, takenBy: NameHolder): CatalogEntry[] {
    const { toolPrefix, readOnlyTools, approved } = record;
    const listed = listing && hashesOf(listing);
    const isReader = readerTest(readOnlyTools);
    const offered = approved.filter(
      ({ name, hash }) => (!listed || listed.get(name) === hash) && takenBy(shownName(toolPrefix, name)) === undefined,
    );
    const group = `Integrations/${labelOf(record)}`;
    const made = offered.map((definition): OfferedTool => {
      const readOnly = isReader(definition.name);
      const known = this.#made.get(definition.name);
      if (!known || known.readOnly !== readOnly || known.definition.hash !== definition.hash) {
        const tool = guestTool(definition, { integration: record, readOnly, call: this.#call });
        return { definition, readOnly, entry: { group, tool } };
      }
      return known.entry.group === group ? known : { ...known, entry: { group, tool: known.entry.tool } };
    });
    this.#made = new Map(made.map((each) => [each.definition.name, each]));
    return made.map(({ entry }) => entry);
  }

  /** Drops all entries, for example when the prefix of their names changes. */
  clear(): void {
    this.#made = new Map();
  }
}

/** Every tool that is approved or listed, each with its state. */
export function toolStates(
  record: IntegrationRecord,
  listing: Listing | undefined,
  takenBy: NameHolder,
): IntegrationTool[] {
  const { toolPrefix, readOnlyTools, approved } = record;
  const isReader = readerTest(readOnlyTools);
  const known = new Map(approved.map((definition) => [definition.name, definition]));
  const listed = listing && hashesOf(listing);
  const here = (name: string) => {
    const tool = shownName(toolPrefix, name);
    return { name, tool, grant: grantOf(record, name), readOnly: isReader(name) };
  };
  const taken = takenAmong([...approved, ...(listing?.definitions ?? [])], toolPrefix, takenBy);
  const left = [...(listing?.leftOut ?? []), ...taken];
  const isTaken = new Set(taken.map(({ name }) => name));
  const isLeft = new Set(left.map(({ name }) => name).filter((name) => isTaken.has(name) || !listed?.has(name)));
  const held = (listing?.definitions ?? [])
    .filter(({ name, hash }) => known.get(name)?.hash !== hash && !isTaken.has(name))
    .map(({ name, title, description, inputSchema }) => {
      const state = known.has(name) ? ('changed' as const) : ('new' as const);
      return { ...here(name), state, ...(title && { title }), ...(description && { description }), inputSchema };
    });
  const approvedOnes = approved
    .filter(({ name, hash }) => (!listed?.has(name) || listed.get(name) === hash) && !isLeft.has(name))
    .map(({ name }) => {
      const gone = listed && !listed.has(name);
      return { ...here(name), state: gone ? ('gone' as const) : ('approved' as const) };
    });
  return [...approvedOnes, ...held, ...left.map((each) => ({ ...each, state: 'left_out' as const }))];
}

/** The listed names that other tools have, each one once. */
function takenAmong(definitions: readonly ToolDefinition[], toolPrefix: string, takenBy: NameHolder): RejectedTool[] {
  return [...new Set(definitions.map(({ name }) => name))].flatMap((name) => {
    const holder = takenBy(shownName(toolPrefix, name));
    return holder === undefined
      ? []
      : [{ name, reason: `its name is taken by ${holder}; give this integration a toolPrefix` }];
  });
}

/** A hash of the list, so that exactly the list that was looked at is approved. */
export function hashOfListing({ definitions }: Listing, { prompts, resources }: Extras = NO_EXTRAS): string {
  const hashes = [
    ...definitions.map(({ name, hash }) => `${name} ${hash}`),
    ...prompts.map(({ name, hash }) => `prompt ${name} ${hash}`),
    ...resources.map(({ uriTemplate, hash }) => `resource ${uriTemplate} ${hash}`),
  ].sort();
  return createHash('sha256').update(hashes.join('\n')).digest('base64url');
}

function hashesOf({ definitions }: Listing): ReadonlyMap<string, string> {
  return new Map(definitions.map(({ name, hash }) => [name, hash]));
}

function readerTest(readOnlyTools: readonly string[]): (name: string) => boolean {
  const matchers = readOnlyTools.map(globMatcher);
  return (name) => matchers.some((matches) => matches(name));
}
