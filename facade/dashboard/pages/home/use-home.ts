import { type Answer, type ListAnswer, useAnswer, useMay } from '../../app.ts';
import { HOME } from './first-calls.ts';

/** The answer to a call of Home; nothing is asked where the person may not. */
export function useHome<Output>(name: keyof typeof HOME): Answer<Output> & { readonly may: boolean } {
  const [tool, input] = HOME[name];
  const may = useMay(tool);
  return { ...useAnswer<Output>(may ? tool : undefined, input), may };
}

/** The records of a list; none before they are there. One that is asked again is not loading: what is there stays. */
export function useHomeList<Row>(name: keyof typeof HOME) {
  const { data, loading, error, may } = useHome<ListAnswer<Row>>(name);
  const rows = data?.data ?? [];
  return {
    rows,
    total: data?.total ?? rows.length,
    more: data?.nextCursor != null,
    loading: loading && !data,
    error,
    may,
  };
}
