import { actorsOf, type Principal } from './principal.ts';

export interface StorageQuotas {
  /** What the caller may still add, asked before each transaction. Undefined if nothing is limited. */
  roomFor(principal: Principal): Promise<StorageRoom> | undefined;
  /** How much is kept now. */
  state(): Promise<StorageState>;
}

/** Room for what one transaction adds. */
export interface StorageRoom {
  /** @throws ToolError (too_large) if so many bytes more are too many; (unavailable) if the process has no memory for more */
  require(bytes: number): void;
  note(bytes: number): void;
  /** The transaction has ended: what it noted is in the store, or nothing of it. */
  end(): void;
}

export interface StorageState {
  readonly usedBytes: number;
  /** Null if there is none. */
  readonly limitBytes: number | null;
  /** Of the limit that is used, 1 for all. */
  readonly share: number | null;
  readonly kinds: readonly { readonly type: string; readonly bytes: number }[];
  /** What is full to nine tenths: the workspace, and callers by their ids. */
  readonly nearlyFull: readonly { readonly id: string; readonly text: string }[];
}

interface Keeping {
  readonly principal: Principal;
  readonly server: { readonly storage?: Pick<StorageQuotas, 'roomFor'> | undefined };
}

/** Before bytes are put that a transaction is to keep. @throws ToolError as `require` of the room does */
export async function requireRoom(bytes: number, { principal, server }: Keeping): Promise<void> {
  const room = await server.storage?.roomFor(principal);
  room?.require(bytes);
}

/** The principal in whose quota it counts what the caller writes. Agents and flows write for whom they act for. */
export function storageOwnerOf(principal: Principal): string {
  const own = actorsOf(principal).find(({ type }) => !FOR_OTHERS.includes(type));
  return own?.id ?? principal.ownerId;
}

const FOR_OTHERS: readonly Principal['type'][] = ['agent', 'flow', 'webhook'];
