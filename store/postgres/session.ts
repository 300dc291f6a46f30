import type pg from 'pg';

/** One connection, which runs one statement at a time. */
export interface Session {
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<readonly Row[]>;
}

/** One connection for a piece of work. */
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
}
