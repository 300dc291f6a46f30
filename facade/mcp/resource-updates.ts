import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { CollectionName } from '../../store/collections.ts';
import type { Commit, Store } from '../../store/port.ts';
import { checkSafely } from '../../tools/core/access/credential-status.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { mayRead } from '../../tools/core/access/read-access.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { RequestContext } from '../http/request-context.ts';
import { type Address, addresses } from './addresses.ts';
import { canonicalCollection, collectionsOf, parseUri, uriOf } from './resource-uri.ts';

type StoredRecord = Record<string, unknown> & { readonly id: string };

interface Changed {
  readonly address: Address;
  readonly uri: string;
  /** The record after the change. For a deleted record, as it was before. */
  readonly record: StoredRecord;
  readonly deleted: boolean;
}

export interface ResourceUpdatesDeps {
  readonly store: Store;
  readonly registry: Registry;
  onError(cause: unknown): void;
}

/** Notifies subscribers of changes at and below their URIs, if they may read the record at that moment. */
export class ResourceUpdates {
  readonly #deps: ResourceUpdatesDeps;
  readonly #followers = new Map<string, Set<Follower>>();
  #forgetListener = () => {};

  constructor(deps: ResourceUpdatesDeps) {
    this.#deps = deps;
  }

  close(): void {
    this.#forgetListener();
  }

  /** Calls `tell` after each change from now on, with the URI that `uris` holds for the canonical one. The returned function ends it. */
  follow(context: RequestContext, uris: ReadonlyMap<string, string>, tell: (uri: string) => void): () => void {
    const follower = new Follower(this.#deps, context, (uri) => tell(uris.get(uri) ?? uri));
    // Commits are followed while somebody subscribes to something.
    if (this.#followers.size === 0 && uris.size > 0)
      this.#forgetListener = this.#deps.store.onCommit((commit) => this.#committed(commit));
    for (const uri of uris.keys()) {
      this.#followers.set(uri, (this.#followers.get(uri) ?? new Set()).add(follower));
    }
    return () => {
      follower.stop();
      for (const uri of uris.keys()) {
        const others = this.#followers.get(uri);
        others?.delete(follower);
        if (others?.size === 0) this.#followers.delete(uri);
      }
      if (this.#followers.size === 0) this.#forgetListener();
    };
  }

  #committed({ changes }: Commit): void {
    for (const { kind, collection, record } of changes) {
      const address = addressOf.get(collection);
      if (address) this.#changed({ address, uri: uriOf(address, record), record, deleted: kind === 'deleted' });
      // The bookkeeping of a thread about its messages is stored without counting as a change of the thread.
      if (collection === 'messages' && kind === 'created' && thread) {
        const named = { id: String(record.threadId) };
        this.#changed({ address: thread, uri: uriOf(thread, named), record: named, deleted: false });
      }
    }
  }

  #changed(changed: Changed): void {
    for (const uri of [changed.uri, ...collectionsOf(changed.uri)]) {
      for (const follower of this.#followers.get(uri) ?? []) follower.note(uri, changed);
    }
  }
}

/** The URI in the form that is made for a record, or for all records below it. Undefined if no record has such a URI. */
export function canonicalUri(uri: string): string | undefined {
  const named = parseUri(uri);
  return named ? uriOf(named.address, named.input) : canonicalCollection(uri);
}

const addressOf = new Map(addresses.map((address) => [address.collection, address]));
const thread = addressOf.get('threads');

/** Changes below one URI that may wait for a slow reader; of more, the earliest are forgotten. */
const MOST_WAITING = 1000;

/** One stream. Several changes below a URI are reported once, so a slow reader delays only its own URIs. */
class Follower {
  readonly #deps: ResourceUpdatesDeps;
  readonly #context: RequestContext;
  readonly #tell: (uri: string) => void;
  /** By URI, the changed records at or below it. */
  readonly #waiting = new Map<string, Map<string, Changed>>();
  #telling = false;
  #stopped = false;

  constructor(deps: ResourceUpdatesDeps, context: RequestContext, tell: (uri: string) => void) {
    this.#deps = deps;
    this.#context = context;
    this.#tell = tell;
  }

  note(uri: string, changed: Changed): void {
    const records = this.#waiting.get(uri) ?? new Map<string, Changed>();
    this.#waiting.set(uri, records.set(changed.uri, changed));
    for (const earliest of records.size > MOST_WAITING ? records.keys() : []) {
      records.delete(earliest);
      break;
    }
    if (!this.#telling) void this.#tellAll();
  }

  stop(): void {
    this.#stopped = true;
    this.#waiting.clear();
  }

  async #tellAll(): Promise<void> {
    this.#telling = true;
    const { response } = this.#context;
    // Changes that arrive during this are appended.
    for (const uri of this.#waiting.keys()) {
      while (response.writableNeedDrain) await drained(response);
      const records = this.#waiting.get(uri);
      if (!records) break; // it was stopped
      this.#waiting.delete(uri);
      const told = await this.#mayReadAny(records.values()).catch(this.#deps.onError);
      if (told && !this.#stopped) this.#tell(uri);
      // Lets other work run, and lets the notification reach the response, which only then reports that it is full.
      await setImmediate();
    }
    this.#telling = false;
  }

  async #mayReadAny(changes: Iterable<Changed>): Promise<boolean> {
    const standing = await checkSafely(() => this.#context.checkCredential());
    if (standing instanceof ToolError) {
      if (standing.cause !== undefined) this.#deps.onError(standing.cause);
      this.#context.abort();
      return false;
    }
    for (const changed of changes) if (await this.#mayRead(standing, changed)) return true;
    return false;
  }

  /** Judged by the rights and the record of this moment. A deleted record is judged as it was. */
  async #mayRead(principal: Principal, { address, uri, record, deleted }: Changed): Promise<boolean> {
    const { store, registry } = this.#deps;
    const tool = registry.find(address.readTool);
    const now: StoredRecord | undefined = await store[address.collection as CollectionName].get(record.id); // a test checks that every address names a collection
    const shown = now ?? (deleted ? record : undefined);
    if (!tool || !shown || !(await mayRead(principal, tool, parseUri(uri)?.input ?? {}, shown))) return false;
    const { catalog, kinds } = registry.server;
    return address.sees?.(shown as never, principal, { store, catalog, kinds }) ?? true; // of the address's own collection
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      response.off('drain', end).off('close', end);
      resolve();
    };
    response.on('drain', end).on('close', end);
  });
}
