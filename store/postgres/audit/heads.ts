import { isDeepStrictEqual } from 'node:util';
import { type AuditHead, auditHead, type HeadLog, type StoredHead } from '../../audit-proof/head.ts';
import type { Database } from '../database.ts';
import type { Session } from '../session.ts';

const LOCK = { begin: 'begin', lock: 'lock table audit_heads in share row exclusive mode' };
const PAGE = 200;

interface HeadRow {
  readonly number: string;
  readonly head: unknown;
}

/** The heads of all processes on the database, one after the other. */
export class PostgresHeads implements HeadLog {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  last(): Promise<AuditHead | undefined> {
    return lastIn(this.#database);
  }

  append(make: (last: AuditHead | undefined) => AuditHead): Promise<AuditHead> {
    return this.#database.useBegun(LOCK, async (session) => {
      try {
        const last = await lastIn(session);
        const head = make(last);
        if (head !== last) {
          const values = [head.number, JSON.stringify(head)];
          await session.query({ text: 'insert into audit_heads (number, head) values ($1, $2)', values });
        }
        await session.query({ text: 'commit' });
        return head;
      } catch (error) {
        await session.query({ text: 'rollback' }).catch(() => {});
        throw error;
      }
    });
  }

  async *read(): AsyncGenerator<StoredHead> {
    const text = 'select number, head from audit_heads where number > $1 order by number limit $2';
    for (let after = '0'; ; ) {
      const rows = await this.#database.query<HeadRow>({ text, values: [after, PAGE] });
      for (const row of rows) yield headIn(row);
      const last = rows.at(-1);
      if (!last || rows.length < PAGE) return;
      after = last.number;
    }
  }

  async removeThrough(number: number): Promise<void> {
    await this.#database.query({ text: 'delete from audit_heads where number <= $1', values: [number] });
  }
}

async function lastIn(session: Session): Promise<AuditHead | undefined> {
  const text = 'select number, head from audit_heads order by number desc limit 1';
  const [row] = await session.query<HeadRow>({ text });
  return row && auditHead.parse(row.head);
}

function headIn({ number, head }: HeadRow): StoredHead {
  const parsed = auditHead.safeParse(head).data;
  if (!parsed) return { head: undefined, damage: 'it is not a head' };
  const isSame = parsed.number === Number(number) && isDeepStrictEqual(parsed, head);
  return isSame ? { head: parsed } : { head: parsed, damage: 'it is not as it was written' };
}
