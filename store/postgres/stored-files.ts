import { FILE_RECORDS, PIECE_BYTES, type StoredFiles } from '../files-port.ts';
import type { Jobs } from '../jobs-port.ts';
import { type PeriodicTask, startLeaderTask } from '../periodic-task.ts';
import { Membership } from './cluster/membership.ts';
import type { Database } from './database.ts';
import { tableNamed } from './records/tables.ts';
import type { Session } from './session.ts';

const SWEEP_EVERY_MS = 10 * 60_000;

/** Files in pieces, each a row. A trigger removes them with their record, in its transaction. */
export class PostgresFiles implements StoredFiles {
  readonly #database: Database;
  /** Whose files without a record are left alone as long as it runs: their records may follow. */
  readonly #process: string;

  constructor(database: Database, process: string) {
    this.#database = database;
    this.#process = process;
  }

  async put(id: string, bytes: Uint8Array): Promise<void> {
    await this.#database.use(async (session) => {
      await session.query({ text: 'begin' });
      await session.query({ text: 'delete from stored_files where id = $1', values: [id] });
      for (let part = 0; part === 0 || part * PIECE_BYTES < bytes.length; part += 1) {
        const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const values = [id, part, this.#process, piece.subarray(part * PIECE_BYTES, (part + 1) * PIECE_BYTES)];
        await session.query({ text: PUT, values });
      }
      await session.query({ text: 'commit' });
    });
  }

  async *read(id: string): AsyncGenerator<Uint8Array, void> {
    for (let part = 0; ; part += 1) {
      const [found] = await this.#database.query<{ bytes: Buffer }>({ text: READ, values: [id, part] });
      if (!found) return;
      yield found.bytes;
    }
  }

  async discard(ids: readonly string[]): Promise<void> {
    await this.#database.query({ text: 'delete from stored_files where id = any ($1::text[])', values: [ids] });
  }

  /** Removes what processes that ended by a crash left behind: files without a record. */
  async sweep(): Promise<void> {
    await this.#database.query({ text: SWEEP });
  }

  startSweeping(jobs: Pick<Jobs, 'isLeader'>, onFailure: (cause: unknown) => void): PeriodicTask {
    return startLeaderTask(jobs, () => this.sweep(), { onFailure, everyMs: SWEEP_EVERY_MS });
  }
}

const RECORDS = tableNamed(FILE_RECORDS).sql;

const PUT = 'insert into stored_files (id, part, process, bytes) values ($1, $2, $3, $4)';

const READ = 'select bytes from stored_files where id = $1 and part = $2';

const SWEEP = `delete from stored_files where not exists (select from ${RECORDS} as record where record.id = stored_files.id)
  and not ${Membership.runs('stored_files.process')}`;

/** Called when the tables of records are there. */
export async function prepareFiles(session: Session): Promise<void> {
  const values = [RECORDS];
  const text = `select 1 from pg_trigger where tgname = 'stored_files_go' and tgrelid = $1::regclass`;
  if ((await session.query({ text, values })).length > 0) return;
  await session.query({ text: 'lock table write_gate in exclusive mode' });
  await session.query({
    text: `create trigger stored_files_go after delete on ${RECORDS} referencing old table as gone
      for each statement execute function agent_admin_remove_files()`,
  });
}
