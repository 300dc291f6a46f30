import { type CollectionName, collections } from '../../../store/collections.ts';
import type { Jobs, JobTable } from '../../../store/jobs-port.ts';
import type { AuditLog, Reader, Readers, Store } from '../../../store/port.ts';
import type { Row } from '../../../store/row.ts';
import type { RowStore } from '../../../store/rows-port.ts';
import { type SpanOptions, withChildSpan } from './span.ts';
import { observed, type Telemetry, timed } from './telemetry.ts';

export function observedStore(store: Store, telemetry: Telemetry): Store {
  const { storeSeconds } = telemetry.measures;
  const system = SYSTEMS[store.kind] ?? store.kind;
  const span = (operation: string, collection?: string) => () => spanOf(system, operation, collection);
  const others: Omit<Store, keyof Readers> = {
    kind: store.kind,
    ...(store.cluster && { cluster: store.cluster }),
    ...(store.credentials && { credentials: store.credentials }),
    rows: observedRows(store.rows, telemetry),
    embeddings: store.embeddings,
    files: store.files,
    jobs: observedJobs(store.jobs, telemetry),
    audit: telemetry.tracer ? tracedAudit(store.audit, span) : store.audit,
    transaction: (work, origin) =>
      observed(storeSeconds, [system, 'transaction'], span('transaction'), () => store.transaction(work, origin)),
    search: (collection, query) =>
      observed(storeSeconds, [system, 'search'], span('search', collection), () => store.search(collection, query)),
    ids: (collection, query) =>
      observed(storeSeconds, [system, 'ids'], span('ids', collection), () => store.ids(collection, query)),
    sizes: (collection) => store.sizes(collection),
    onCommit: (listener, named) => store.onCommit(listener, named),
    beforeCommit: (add) => store.beforeCommit(add),
    status: () => store.status(),
    fullMemory: () => store.fullMemory(),
    close: () => store.close(),
  };
  const traced: MakeReader = (reader, name) => tracedReader(reader, store.kind, (operation) => span(operation, name));
  const readers = readersOf(store, telemetry.tracer ? traced : (reader) => reader);
  return Object.assign(others, readers);
}

type AnyReader = Reader<Row>;
type MakeReader = (reader: AnyReader, name: CollectionName) => AnyReader;

function readersOf(store: Store, make: MakeReader): Readers {
  const names = Object.keys(collections) as CollectionName[];
  // The wrapped reader returns the same records, so the types match.
  const entries = names.map((name) => [name, make(store[name] as AnyReader, name)]);
  return Object.fromEntries(entries) as Readers;
}

/** Names of databases in the conventions. */
const SYSTEMS: Readonly<Record<string, string>> = { postgres: 'postgresql' };

function spanOf(system: string, operation: string, collection?: string): SpanOptions {
  return {
    name: collection === undefined ? operation : `${operation} ${collection}`,
    kind: 'client',
    attributes: { 'db.system.name': system, 'db.operation.name': operation, 'db.collection.name': collection },
  };
}

type SpanFor = (operation: string, collection?: string) => () => SpanOptions;

/** A store in memory finds a record by its id before a span could be made. */
function tracedReader(reader: AnyReader, kind: string, span: (operation: string) => () => SpanOptions): AnyReader {
  const [get, find, count] = [span('get'), span('find'), span('count')];
  return {
    get: kind === 'lowdb' ? (id) => reader.get(id) : (id) => withChildSpan(get, () => reader.get(id)),
    read: kind === 'lowdb' ? (id) => reader.read(id) : (id) => withChildSpan(get, () => reader.read(id)),
    find: (query) => withChildSpan(find, () => reader.find(query)),
    first: (query) => withChildSpan(find, () => reader.first(query)),
    count: (filter) => withChildSpan(count, () => reader.count(filter)),
  };
}

function tracedAudit(audit: AuditLog, span: SpanFor): AuditLog {
  const { tally } = audit;
  return {
    append: (entry) => audit.append(entry),
    find: (query) => withChildSpan(span('find', 'audit'), () => audit.find(query)),
    count: (filter, upTo) => withChildSpan(span('count', 'audit'), () => audit.count(filter, upTo)),
    ...(tally && { tally: (query) => withChildSpan(span('tally', 'audit'), () => tally.call(audit, query)) }),
    flush: () => audit.flush(),
    prune: (before) => audit.prune(before),
    proof: audit.proof,
  };
}

/** Imported rows. What they are asked is in the name of the query, which the code gives it. */
function observedRows(rows: RowStore, { measures: { storeSeconds } }: Telemetry): RowStore {
  const run = <Result>(operation: string, name: string | undefined, work: () => Promise<Result>) =>
    observed(storeSeconds, ['rows', operation], () => spanOf('rows', operation, name), work);
  return {
    get version() {
      return rows.version;
    },
    wake: () => rows.wake(),
    ready: () => rows.ready(),
    useRates: (rates) => rows.useRates(rates),
    stage: (batch) => run('stage', batch.type, () => rows.stage(batch)),
    restore: (kept) => rows.restore(kept),
    query: (query, parameters, options) => run('query', query.name, () => rows.query(query, parameters, options)),
    rebuild: (tables) => run('rebuild', undefined, () => rows.rebuild(tables)),
    check: () => rows.check(),
    read: (work, options) => run('read', undefined, () => rows.read(work, options)),
  };
}

function observedJobs(jobs: Jobs, telemetry: Telemetry): Jobs {
  const { jobSeconds } = telemetry.measures;
  return {
    get worker() {
      return jobs.worker;
    },
    get isLeader() {
      return jobs.isLeader;
    },
    open: () => jobs.open(),
    isAlive: (worker) => jobs.isAlive(worker),
    add: (name, payload, options) => jobs.add(name, payload, options),
    serve(work, onFailure) {
      const measured = Object.entries(work).map(([name, act]): [string, JobTable[string]] => [
        name,
        (payload) =>
          timed(jobSeconds, [name], () =>
            telemetry.alone(
              () => ({ name: `job ${name}` }),
              () => act(payload),
            ),
          ),
      ]);
      return jobs.serve(Object.fromEntries(measured), onFailure);
    },
  };
}
