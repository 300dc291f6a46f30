import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import type { AcceptedSecrets, ProcessClock, SharedSecrets } from '../../cluster-port.ts';
import { OperatorError } from '../../errors.ts';
import type { Database } from '../database.ts';
import type { Session } from '../session.ts';

const SEEN_EVERY_MS = 1000;
const DEAD_AFTER = "interval '10 seconds'";
const LOCK = 7_307_020;

interface Member {
  readonly id: string;
  readonly host: string;
  readonly secrets: SharedSecrets;
  readonly seen: string;
}

export interface MembershipDeps {
  readonly process: string;
  readonly database: Database;
  clockAheadMs(): number | undefined;
  onFailure(cause: unknown): void;
}

/** The processes that run. Those who run together accept each other's secrets. */
export class Membership {
  readonly #deps: MembershipDeps;
  #seeing: NodeJS.Timeout | undefined;

  constructor(deps: MembershipDeps) {
    this.#deps = deps;
  }

  static runs(column: string): string {
    return `exists (select from cluster_processes as member
      where member.id = ${column} and member.seen_at > clock_timestamp() - ${DEAD_AFTER})`;
  }

  async enter(): Promise<void> {
    await this.#deps.database.query({ text: ENTER, values: [this.#deps.process, hostname()] });
    this.#seeing = setInterval(() => void this.#see(), SEEN_EVERY_MS).unref();
  }

  /** @throws OperatorError if a process that runs has other secrets */
  async join(secrets: SharedSecrets): Promise<void> {
    const seen = new Map<string, string>();
    for (;;) {
      const other = await this.#deps.database.patiently((session) => this.#tryToJoin(session, secrets));
      if (!other) break;
      // One that died is in the list for some seconds more. One that is seen again runs.
      if ((seen.get(other.id) ?? other.seen) !== other.seen) throw new OperatorError(problemWith(other, secrets));
      seen.set(other.id, other.seen);
      await setTimeout(SEEN_EVERY_MS / 4);
    }
  }

  clocks(): Promise<readonly ProcessClock[]> {
    return this.#deps.database.query<ProcessClock>({ text: CLOCKS, isQuick: true });
  }

  async leave(): Promise<void> {
    clearInterval(this.#seeing);
    const { database, process, onFailure } = this.#deps;
    await database.query({ text: LEAVE, values: [process] }).catch(onFailure);
  }

  async #tryToJoin(session: Session, secrets: SharedSecrets): Promise<Member | undefined> {
    await session.query({ text: 'begin' });
    await session.query({ text: `select pg_advisory_xact_lock(${LOCK})` });
    const others = await session.query<Member>({ text: RUNNING, values: [this.#deps.process] });
    const other = others.find((member) => unlike(member.secrets, secrets) !== undefined);
    if (!other) await session.query({ text: JOIN, values: [this.#deps.process, JSON.stringify(secrets)] });
    await session.query({ text: 'commit' });
    return other;
  }

  async #see(): Promise<void> {
    const { database, process, clockAheadMs, onFailure } = this.#deps;
    await database
      .query({ name: 'cluster_see', text: SEE, values: [process, clockAheadMs() ?? null], isQuick: true })
      .catch(onFailure);
  }
}

const RUNNING = `select id, host, secrets, seen_at::text as seen from cluster_processes
  where id <> $1 and secrets is not null and seen_at > clock_timestamp() - ${DEAD_AFTER}`;

const ENTER = 'insert into cluster_processes (id, host) values ($1, $2)';

const SEE = 'update cluster_processes set seen_at = clock_timestamp(), ahead_ms = $2 where id = $1';

const CLOCKS = `select id as process, host, ahead_ms as "aheadMs" from cluster_processes
  where ahead_ms is not null and seen_at > clock_timestamp() - ${DEAD_AFTER} order by id`;

const JOIN = 'update cluster_processes set secrets = $2, seen_at = clock_timestamp() where id = $1';

const LEAVE = `with released as (delete from cluster_holds where process = $1)
  delete from cluster_processes where id = $1`;

/** The name of the variable in which they differ. Two lists go together where each accepts what the other signs with. */
function unlike(others: SharedSecrets, own: SharedSecrets): string | undefined {
  return Object.keys(own).find((name) => !goTogether(others[name] ?? [], own[name] ?? []));
}

function goTogether(one: AcceptedSecrets, other: AcceptedSecrets): boolean {
  const [first, second] = [one[0], other[0]];
  return first !== undefined && second !== undefined && one.includes(second) && other.includes(first);
}

function problemWith({ host, secrets }: Member, own: SharedSecrets): string {
  const name = unlike(secrets, own);
  return `${name} is not that of another process which runs on this database, on the host ${host}. Give all processes the same. To change it, give all of them both, the former first (former,new); then with the new one first (new,former); then the new one alone.`;
}
