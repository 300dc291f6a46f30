import { useEffect, useState } from 'preact/hooks';
import { type CallError, call } from './client.ts';
import { useAnswer } from './store.ts';

/** What the list tools answer. */
export interface ListAnswer<Row> {
  readonly data: readonly Row[];
  readonly nextCursor: string | null;
  readonly total?: number;
}

export interface Pages<Row> {
  readonly rows: readonly Row[];
  readonly loading: boolean;
  readonly error: CallError | undefined;
  /** Undefined: that is all. */
  readonly more: (() => void) | undefined;
  /** All that match, where the tool counts them. */
  readonly total: number | undefined;
}

interface Further<Row> {
  readonly key: string;
  readonly rows: readonly Row[];
  readonly next: string | null | undefined;
  readonly loading: boolean;
  readonly error?: CallError | undefined;
}

/** The pages of a list so far. The first one is renewed when records change; a new input starts again. */
export function usePages<Row>(tool: string | undefined, input: object = {}): Pages<Row> {
  const first = useAnswer<ListAnswer<Row>>(tool, input);
  const key = `${tool} ${JSON.stringify(input)}`;
  const none: Further<Row> = { key, rows: [], next: undefined, loading: false };
  const [kept, setFurther] = useState(none);
  const further = kept.key === key ? kept : none;
  useEffect(() => setFurther(none), [key]);
  const next = further.next === undefined ? first.data?.nextCursor : further.next;

  async function load(cursor: string) {
    setFurther({ ...further, loading: true });
    try {
      const page = await call<ListAnswer<Row>>(tool ?? '', { ...input, cursor });
      setFurther({ key, rows: further.rows.concat(page.data), next: page.nextCursor, loading: false });
    } catch (error) {
      setFurther({ ...further, next: null, loading: false, error: error as CallError }); // as `call` throws
    }
  }
  return {
    rows: further.rows.length === 0 ? (first.data?.data ?? []) : (first.data?.data ?? []).concat(further.rows),
    loading: first.loading || further.loading,
    error: first.error ?? further.error,
    more: next && !further.loading ? () => void load(next) : undefined,
    total: first.data?.total,
  };
}
