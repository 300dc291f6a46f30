import type pg from 'pg';

export interface Session {
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<readonly Row[]>;
}

export interface ClientSession extends Session {
  /** The result with the types of its columns, each row a list of texts and nulls. */
  answer(statement: Statement): Promise<pg.QueryArrayResult<(string | null)[]>>;
}

export interface Statement {
  /** Statements with a name are planned once per connection. The same name always has the same text. */
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** It finds a record or a few by an index. A connection that does not answer it at once is lost. */
  readonly isQuick?: boolean;
  /** How long the answer is waited for, where it is not as long as for others. */
  readonly answerMs?: number;
}

/** A statement that writes, as a part of a larger one. The same name always has the same text. */
export interface BatchedStatement {
  readonly name: string;
  /** The texts of its values are given: `$1` and so on. */
  text(places: readonly string[]): string;
  readonly values: readonly unknown[];
}

/** Runs all in one statement, so that they take the time of one answer. Returns the number of the transaction. */
export async function batchWrites(
  session: Session,
  additions: readonly BatchedStatement[],
): Promise<string | undefined> {
  if (additions.length === 0) return undefined;
  const values: unknown[] = [];
  const parts = additions.map((addition) => {
    const places = addition.values.map((value) => `$${values.push(value)}`);
    return `${addition.name} as (${addition.text(places)})`;
  });
  const name = `write ${additions.map((addition) => addition.name).join(' ')}`;
  const text = `with ${parts.join(', ')} select pg_current_xact_id()::text as xid`;
  const [written] = await session.query<{ xid: string }>({ name, text, values });
  return written?.xid;
}
