import { newId } from '../../store/ids.ts';
import type { Store } from '../../store/port.ts';
import { ApprovedCalls } from '../../tools/approvals/approved-calls.ts';
import { catalog } from '../../tools/catalog.ts';
import { credentialStatus } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { indexCatalog } from '../../tools/core/registry/catalog-index.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { openTestRegistry, registryOn, type TestRegistry } from './registry.ts';

type Registry = Omit<TestRegistry, 'store' | 'folder' | 'close'>;

/** The tools of this server and others. */
export function catalogWith(tools: readonly Tool[]) {
  return indexCatalog([...catalog.entries, ...tools.map((tool) => ({ group: 'Test', tool }))]);
}

/** People who decide, and what asks them, on a store. */
export class ApprovalWorld {
  readonly store: Store;
  readonly registry: Registry;

  constructor(store: Store, registry: Registry) {
    this.store = store;
    this.registry = registry;
  }

  static async open(tools: readonly Tool[] = [], now?: () => Date): Promise<ApprovalWorld> {
    const opened = await openTestRegistry(now, catalogWith(tools));
    return new ApprovalWorld(opened.store, opened);
  }

  /** What runs approved calls in one process. */
  calls(onFailure: (cause: unknown) => void = (cause) => console.error(cause)): ApprovedCalls {
    return new ApprovedCalls({ store: this.store, registry: this.registry.registry, onFailure });
  }

  /** An admin user with full access, signed in. */
  async person(name: string): Promise<Principal> {
    const email = `${name}-${newId('usr')}@example.com`;
    const user = { email, role: 'admin', isActive: true };
    const { id } = await this.store.transaction((tx) => tx.adminUsers.insert(user));
    return this.as('session', id);
  }

  /** The principal as it is now. */
  async as(type: Principal['type'], id: string): Promise<Principal> {
    const { catalog, now } = this.registry.registry.server;
    const found = await credentialStatus({ type, id, name: id }, this.store, { catalog, now: now() });
    if (typeof found === 'string') throw new Error(found);
    return found;
  }

  async key(owner: Principal, input: object = {}): Promise<Principal> {
    const made = { name: 'asks', scopes: ['write'], ...input };
    const { id } = await this.registry.must(owner, 'create_api_key', made);
    return this.as('api-key', id);
  }

  async capsule(owner: Principal, input: object): Promise<Principal> {
    const { id } = await this.registry.must(owner, 'create_capsule', { name: 'asks', status: 'live', ...input });
    return this.as('capsule', id);
  }

  /** The id of the approval that the call waits for. */
  async asked(caller: Principal, tool: string, input: object): Promise<string> {
    const { code, approvalId, error } = await this.registry.refused(caller, tool, input);
    if (code !== 'approval_required' || approvalId === undefined) throw new Error(`${code}: ${error}`);
    return approvalId;
  }

  async approve(decider: Principal, id: string): Promise<void> {
    await this.registry.must(decider, 'decide_approval', { id, decision: 'approve' });
  }

  /** The same store as another process has it. */
  beside(tools: readonly Tool[] = [], store: Store = this.store): ApprovalWorld {
    return new ApprovalWorld(store, registryOn(store, { catalog: catalogWith(tools) }));
  }
}
