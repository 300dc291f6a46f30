import type { Door } from '../../../resources/audit-entry.ts';
import type { ErrorCode } from '../../../resources/error.ts';
import type { IntegrationHealth, SetupFinding } from '../../../resources/health.ts';
import type { StoredFiles } from '../../../store/files-port.ts';
import type { AuditLog, Readers, StoreStatus } from '../../../store/port.ts';
import type { RowStore } from '../../../store/rows-port.ts';
import type { Budgets } from '../access/budgets.ts';
import type { CheckCredential } from '../access/credential-status.ts';
import type { Principal, SessionPrincipal } from '../access/principal.ts';
import type { StorageQuotas } from '../access/storage.ts';
import type { Fail } from '../errors.ts';
import type { HistoryWriters } from '../history-writers.ts';
import type { RecordKind } from '../kind.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Answer, Attached, IdempotencyRequest, Progress, Questions } from './call.ts';
import type { Catalog, CatalogEntry } from './catalog-index.ts';
import type { CallFingerprint } from './idempotency.ts';

/** Whose call is judged or shown, and from what. */
export type CallerContext = Pick<Context<Readers, never>, 'store' | 'principal' | 'server'>;

/** What a handler works with besides its input. */
export interface Context<Store, Code extends ErrorCode> {
  readonly store: Store;
  readonly principal: Principal;
  readonly door: Door;
  readonly requestId: string;
  /** Makes the error to throw; takes only codes that the tool declares. */
  readonly fail: Fail<Code>;
  readonly server: ServerContext;
  /** The name that the software of the caller gives itself. */
  readonly client: string | undefined;
  /** The tools that `tools/list` shows the caller, in catalog order. */
  readonly tools: readonly CatalogEntry[];
  /** Aborted when the caller goes away; with a ToolError as the reason when the caller may not continue with the call. */
  readonly signal: AbortSignal | undefined;
  /** Files that came with the input outside of it, as the body of a request. */
  readonly attached: Attached | undefined;
  readonly questions: Questions | undefined;
  /** Reports to the caller how far the call has come, if the caller asked for that. */
  readonly report: (progress: Progress) => void;
}

export interface CallingContext<Store, Code extends ErrorCode> extends Context<Store, Code> {
  /** Calls a tool in the same request, checked, validated and audited like a direct call. A read-only tool calls read-only tools. Never rejects. */
  readonly call: (tool: string, input: unknown, as?: InnerCallOptions) => Promise<Answer>;
  /** Asks for the caller as it stands now, or why it may not continue. Absent if that cannot be asked. */
  readonly checkCredential: CheckCredential | undefined;
}

export interface InnerCallOptions {
  readonly principal: Principal;
  readonly door: Door;
  readonly signal?: AbortSignal | undefined;
  /** The principal as it stands when the call is made. */
  readonly checkCredential?: CheckCredential | undefined;
  readonly auditId?: string;
  readonly approvalId?: string | undefined;
  readonly idempotency?: IdempotencyRequest | undefined;
}

/** The same for a handler that changes data in steps. */
export interface SteppingContext<Store, Code extends ErrorCode> extends CallingContext<Store, Code> {
  /** Runs one step in a transaction, with the versions of what it changes. Nothing slow belongs inside: it holds up all other writes. */
  readonly write: <Result>(step: (store: HistoryWriters) => Promise<Result>) => Promise<Result>;
  /** Stands for the idempotency key of the call: after a crash the same call may come again, and must not begin twice. Undefined without a key. */
  readonly repeat: CallFingerprint | undefined;
  /** Makes the new session the caller, for the audit entry and the door. Only for a tool whose `session` is `begins`. */
  readonly began: (session: SessionPrincipal) => void;
}

/** The server, as tools know it. A group that needs more declares it beside its code (`declare module`, see `Models`). */
export interface ServerContext {
  readonly name: string;
  readonly version: string;
  /** MCP revisions, newest first. */
  readonly protocolVersions: readonly string[];
  readonly startedAt: Date;
  readonly catalog: Catalog;
  readonly kinds: readonly RecordKind[];
  readonly audit: Pick<AuditLog, 'find' | 'count' | 'tally' | 'proof'>;
  /** Imported rows. */
  readonly rows: RowStore;
  readonly files: StoredFiles;
  readonly storeKind: string;
  /** Names this process in what it works on. Absent if no other process can use the store. */
  readonly worker?: string | undefined;
  storeStatus(): StoreStatus;
  /** Checks what this process was set up with. Absent in a registry of tests. */
  readonly checkSetup?: (() => Promise<readonly SetupFinding[]>) | undefined;
  readonly telemetry: Telemetry;
  /** The address under which people and clients reach it. Absent in a registry of tests. */
  readonly baseUrl?: string | undefined;
  /** What the server depends on besides its store. */
  readonly dependencies?: readonly Dependency[];
  /** Absent if nothing is limited, as in a registry of tests. */
  readonly budgets?: Budgets | undefined;
  /** Absent if nothing is limited, as in a registry of tests. */
  readonly storage?: StorageQuotas | undefined;
  now(): Date;
}

/** External dependencies of this server, such as a mail server or model providers. */
export interface Dependency {
  /** What is known of them; answers at once and never rejects. */
  health(): Promise<readonly IntegrationHealth[]>;
}
