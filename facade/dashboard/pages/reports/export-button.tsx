import { csvOf } from '../../../../resources/csv.ts';
import { useAnswer } from '../../app.ts';
import { download } from '../../download.ts';
import type { Row } from '../../kind/spec.ts';
import { Button } from '../../ui.ts';
import type { RenderedReport } from './rendered.tsx';

/** Saves what the report shows: a table for each list of the answer, or else its numbers. A list that goes on gives its first page. */
export function ExportButton({ row }: { readonly row: Row }) {
  const { data } = useAnswer<RenderedReport>('get_report', { id: row.id, render: true });
  const answer = data?.result;
  if (!answer) return null;
  const save = () => {
    const lists = [answer.series, answer.rows, answer.data].filter((one) => Array.isArray(one) && one.length > 0);
    const { totals = answer } = answer;
    const tables = lists.length > 0 ? lists : [[totals]];
    const name = String(row.title)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-');
    download(
      `${name}.csv`,
      tables.map((rows) => csvOf(rows as readonly Row[] /* lists of the tools hold objects */)).join('\r\n'),
    );
  };
  return <Button text="Export as CSV" icon="download" onClick={save} />;
}
