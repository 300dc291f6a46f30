import { createHash } from 'node:crypto';
import type { IntegrationRecord, IntegrationTool, ToolDefinition } from '../../../resources/integration.ts';
import { globMatcher } from '../../allowlist.ts';
import type { CatalogEntry } from '../../catalog-index.ts';
import { type Listing, shownName } from './definition.ts';
import { grantOf, guestTool, type Origin } from './tool.ts';

/** What the settings of a tool's entry come from. */
interface Made {
  readonly definition: ToolDefinition;
  readonly readOnly: boolean;
  readonly entry: CatalogEntry;
}

/**
 * The tools an integration offers: those that were approved and, as far as is known, are still what they were then. Before the first
 * listing, and while the server is away, that is what was approved or offered last.
 */
export class Offer {
  readonly #call: Origin['call'];
  #made: ReadonlyMap<string, Made> = new Map();

  constructor(call: Origin['call']) {
    this.#call = call;
  }

  has(name: string): boolean {
    return this.#made.has(name);
  }

  /** Entries of the catalog; those of tools that stay as they are stay the same objects. */
  entries({ toolPrefix, readOnlyTools, approved }: IntegrationRecord, listing: Listing | undefined): CatalogEntry[] {
    const listed = listing && hashesOf(listing);
    const isReader = readerTest(readOnlyTools);
    const offered = approved.filter(({ name, hash }) => !listed || listed.get(name) === hash);
    const made = offered.map((definition): Made => {
      const readOnly = isReader(definition.name);
      const known = this.#made.get(definition.name);
      if (known && known.readOnly === readOnly && known.definition.hash === definition.hash) return known;
      const tool = guestTool(definition, { prefix: toolPrefix, readOnly, call: this.#call });
      return { definition, readOnly, entry: { group: `Integrations/${toolPrefix}`, tool } };
    });
    this.#made = new Map(made.map((each) => [each.definition.name, each]));
    return made.map(({ entry }) => entry);
  }

  /** Forgets all entries, as where they would have other names. */
  clear(): void {
    this.#made = new Map();
  }
}

/** Each tool that is approved, listed or both, and what became of it. */
export function toolStates(
  { toolPrefix, readOnlyTools, approved }: IntegrationRecord,
  listing: Listing | undefined,
): IntegrationTool[] {
  const isReader = readerTest(readOnlyTools);
  const known = new Map(approved.map((definition) => [definition.name, definition]));
  const listed = listing && hashesOf(listing);
  const here = (name: string) => {
    const tool = shownName(toolPrefix, name);
    return { name, tool, grant: grantOf(tool), readOnly: isReader(name) };
  };
  const held = (listing?.definitions ?? [])
    .filter(({ name, hash }) => known.get(name)?.hash !== hash)
    .map(({ name, title, description, inputSchema }) => {
      const state = known.has(name) ? ('changed' as const) : ('new' as const);
      return { ...here(name), state, ...(title && { title }), ...(description && { description }), inputSchema };
    });
  const approvedOnes = approved
    .filter(({ name, hash }) => !listed?.has(name) || listed.get(name) === hash)
    .map(({ name }) => {
      const gone = listed && !listed.has(name);
      return { ...here(name), state: gone ? ('gone' as const) : ('approved' as const) };
    });
  const leftOut = (listing?.leftOut ?? []).map((each) => ({ ...each, state: 'left_out' as const }));
  return [...approvedOnes, ...held, ...leftOut];
}

/** Of what is listed, so that what is accepted is what was looked at. */
export function hashOfListing({ definitions }: Listing): string {
  const hashes = definitions.map(({ name, hash }) => `${name} ${hash}`).sort();
  return createHash('sha256').update(hashes.join('\n')).digest('base64url');
}

function hashesOf({ definitions }: Listing): ReadonlyMap<string, string> {
  return new Map(definitions.map(({ name, hash }) => [name, hash]));
}

function readerTest(readOnlyTools: readonly string[]): (name: string) => boolean {
  const matchers = readOnlyTools.map(globMatcher);
  return (name) => matchers.some((matches) => matches(name));
}
