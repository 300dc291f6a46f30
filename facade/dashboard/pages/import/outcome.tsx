import { Button } from '../../components/button.tsx';
import { Table } from '../../components/table.tsx';
import { csvOf, download } from '../../csv.ts';
import { counted, number } from '../../format.ts';
import type { FileRow } from './rows.ts';
import type { Progress, Refused } from './run.ts';

const SHOWN = 5;

/** The first rows of a file, so that a wrong column is seen before anything is sent. */
export function FirstRows({ name, rows }: { readonly name: string; readonly rows: readonly FileRow[] }) {
  const some = rows.slice(0, SHOWN).flatMap((one) => ('row' in one ? [one] : []));
  const members = [...new Set(some.flatMap(({ row }) => Object.keys(row)))];
  if (some.length === 0) return <p class="note warn">There are no rows in {name}.</p>;
  return (
    <Table
      label={`First rows of ${name}`}
      columns={members.map((member) => ({
        id: member,
        title: member,
        cell: ({ row }: (typeof some)[number]) => String(row[member] ?? ''),
      }))}
      rows={some}
      keyOf={({ line }) => String(line)}
    />
  );
}

/** How far it is, and which rows were refused. */
export function Outcome({ progress, running }: { readonly progress: Progress; readonly running: boolean }) {
  const { done, of, created, updated, unchanged, refused } = progress;
  return (
    <section class="import-outcome" aria-label="Import">
      <progress class="import-progress" value={done} max={Math.max(1, of)} aria-label="Progress" />
      <p role="status">
        <strong>{running ? `${number(done)} of ${counted(of, 'row')}` : `${counted(done, 'row')} read`}</strong>
        <span class="quiet">
          {`: ${number(created)} new, ${number(updated)} changed, ${number(unchanged)} unchanged, ${number(refused.length)} refused`}
        </span>
      </p>
      {refused.length > 0 && <RefusedRows refused={refused} />}
    </section>
  );
}

const MOST_SHOWN = 100;

function RefusedRows({ refused }: { readonly refused: readonly Refused[] }) {
  const hand = () =>
    download('refused-rows.csv', csvOf(refused.map(({ line, problem, row }) => ({ line, problem, ...row }))));
  return (
    <>
      <header class="section-head">
        <h2>{`${counted(refused.length, 'row')} refused`}</h2>
        <Button icon="download" onClick={hand}>
          Refused rows
        </Button>
      </header>
      <Table
        label="Refused rows"
        columns={[
          { id: 'line', title: 'Line', cell: ({ line }: Refused) => number(line), width: '5rem' },
          { id: 'problem', title: 'Why', cell: ({ problem }: Refused) => problem },
        ]}
        rows={refused.slice(0, MOST_SHOWN)}
        keyOf={({ line, problem }) => `${line} ${problem}`}
      />
    </>
  );
}
