import { counted, number } from '../../app.ts';
import { csvOf, download } from '../../csv.ts';
import { Button, Table } from '../../ui.ts';
import type { Progress, Refused } from './run.ts';

/** How far it is, and which rows were refused. */
export function Outcome({ progress, running }: { readonly progress: Progress; readonly running: boolean }) {
  const { dryRun, done, of, created, updated, unchanged, refused, leftOut, waitSeconds } = progress;
  const others = [...(leftOut ?? [])].map(([reason, rows]) => `, ${number(rows)} left out (${reason})`).join('');
  return (
    <section class="import-outcome" aria-label={dryRun ? 'Check' : 'Import'}>
      <progress class="import-progress" value={done} max={Math.max(1, of)} aria-label="Progress" />
      <p role="status">
        <strong>
          {running
            ? `${number(done)} of ${counted(of, 'row')}`
            : `${counted(done, 'row')} ${dryRun ? 'checked' : 'read'}`}
        </strong>
        <span class="quiet">
          {`: ${number(created)} new, ${number(updated)} changed, ${number(unchanged)} unchanged, ${number(refused.length)} refused${others}`}
          {dryRun && '. This is a check: nothing is imported.'}
        </span>
      </p>
      {running && waitSeconds !== undefined && (
        <p
          class="note"
          role="status"
        >{`The server takes more in ${counted(waitSeconds, 'second')}; it goes on by itself.`}</p>
      )}
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
        <Button text="Refused rows" icon="download" onClick={hand} />
      </header>
      <Table
        label="Refused rows"
        columns={[
          { title: 'Line', cell: ({ line }: Refused) => number(line), width: '5rem' },
          { title: 'Why', cell: ({ problem }: Refused) => problem },
        ]}
        rows={refused.slice(0, MOST_SHOWN)}
        keyOf={({ line, problem }) => `${line} ${problem}`}
      />
    </>
  );
}
