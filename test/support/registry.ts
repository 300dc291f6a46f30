import type { Door } from '../../resources/audit-entry.ts';
import type { ErrorBody } from '../../resources/error.ts';
import type { Store } from '../../store/port.ts';
import { catalog as ownCatalog } from '../../tools/catalog.ts';
import type { Grant } from '../../tools/core/access/grants.ts';
import { parseGrant } from '../../tools/core/access/grants.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { grantRights, scopeRights } from '../../tools/core/access/rights.ts';
import { createModels, type Models } from '../../tools/core/models/models.ts';
import type { Catalog } from '../../tools/core/registry/catalog-index.ts';
import type { ServerContext } from '../../tools/core/registry/context.ts';
import { createRegistry, type Registry } from '../../tools/core/registry/registry.ts';
import { createSecretBox } from '../../tools/core/sealing/secrets.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import { kinds } from '../../tools/kinds.ts';
import { prepareSettings } from '../../tools/settings/defaults.ts';
import { closedAtEnd } from './at-end.ts';
import { outcomesOf, type ToolAnswer } from './calls.ts';
import { dataFolder, openStoreIn, removeFolder, type StoreKind, storeOfRun } from './store.ts';

/** The registry on a store of its own, for callers that no door lets in yet, or at another time. */
export interface TestRegistry {
  readonly store: Store;
  /** Where its data lies, see `openStoreIn`. */
  readonly folder: string;
  readonly registry: Registry;
  call(principal: Principal, tool: string, input?: object, door?: Door): Promise<ToolAnswer>;
  /** The output of a call that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into outputs freely
  must(principal: Principal, tool: string, input?: object, door?: Door): Promise<any>;
  /** The error of a call that must fail. */
  refused(principal: Principal, tool: string, input?: object, door?: Door): Promise<ErrorBody>;
  /** The code of the error, or `ok`. */
  codeOf(principal: Principal, tool: string, input?: object, door?: Door): Promise<string>;
  close(): Promise<void>;
}

export async function openTestRegistry(
  now: () => Date = () => new Date(),
  catalog: Catalog = ownCatalog,
  models: Models = createModels(),
  kind: StoreKind = storeOfRun,
): Promise<TestRegistry> {
  const folder = await dataFolder();
  const store = await openStoreIn(folder, { now }, kind);
  const close = closedAtEnd(async () => {
    await store.close();
    await removeFolder(folder);
  });
  await prepareSettings(store);
  return { store, folder, close, ...registryOn(store, { now, catalog, models }) };
}

/** A registry on the store, as each process has its own. */
export function registryOn(
  store: Store,
  facts: Partial<ServerContext> = {},
  onFailure: (cause: unknown) => void = (cause) => console.error(cause),
): Omit<TestRegistry, 'store' | 'folder' | 'close'> {
  const server = testFacts(store, { now: () => new Date(), catalog: ownCatalog, ...facts });
  const registry = createRegistry({ store, server, repeatsSecret: 'of all processes', onFailure });
  const call: TestRegistry['call'] = async (principal, tool, input = {}, door = 'mcp') =>
    toolAnswer(await registry.call({ principal, tool, input, door, requestId: 'test' }));
  const as = (principal: Principal, door?: Door) =>
    outcomesOf((tool, input) => call(principal, tool, input as object, door)); // tools take objects
  return {
    registry,
    call,
    must: (principal, tool, input, door) => as(principal, door).must(tool, input),
    refused: (principal, tool, input, door) => as(principal, door).refused(tool, input),
    codeOf: (principal, tool, input, door) => as(principal, door).codeOf(tool, input),
  };
}

export const SECRETS_KEY = Buffer.alloc(32, 'key').toString('base64');

/** What the tools know of their server. */
export function testFacts(
  store: Store,
  parts: Pick<ServerContext, 'now' | 'catalog'> & Partial<ServerContext>,
): ServerContext {
  return {
    name: 'test',
    version: '0.0.0',
    protocolVersions: [],
    startedAt: parts.now(),
    kinds,
    audit: store.audit,
    rows: store.rows,
    files: store.files,
    storeKind: store.kind,
    worker: store.jobs.worker,
    storeStatus: () => store.status(),
    models: createModels(),
    telemetry: new Telemetry(),
    secrets: createSecretBox([SECRETS_KEY], ''),
    ...parts,
  };
}

export function toolAnswer(answer: Awaited<ReturnType<Registry['call']>>): ToolAnswer {
  // The output of a tool is an object with named members.
  return answer.ok ? { output: answer.output as Record<string, unknown> } : { error: answer.error };
}

interface PrincipalOptions {
  readonly type: Principal['type'];
  readonly id: string;
  readonly ownerId?: string;
  readonly scopes?: readonly string[];
  /** Instead of scopes. */
  readonly grants?: readonly string[];
}

/** A caller as a door would have found it. */
export function principalOf({ type, id, ownerId = 'usr_owner', scopes = [], grants }: PrincipalOptions): Principal {
  const parsed: Grant[] | undefined = grants?.flatMap((text) => {
    const result = parseGrant(text);
    return result.ok ? [result.grant] : [];
  });
  const rights = parsed ? grantRights(parsed) : scopeRights(scopes);
  return { type, id, name: id, scopes, ownerId, rights, ...(parsed && { grants: parsed }) };
}
