import 'uplot/dist/uPlot.min.css';
import '../style/headlines.css';
import '../style/analytics.css';
import { useState } from 'preact/hooks';
import { invalidate, keepAnswer } from '../answer-cache.ts';
import { Button } from '../components/button.tsx';
import type { Row } from '../kind/spec.ts';
import { Rendered } from '../pages/reports/rendered.tsx';
import { useMay } from '../tools.ts';
import { beginAt } from './host.ts';
import { type ShownCall, start } from './start.tsx';

/** A report and what its question answers now. */
function ReportView({ output }: ShownCall) {
  const row = output as Row; // a report has an id
  useState(() => {
    beginAt(`/reports/${encodeURIComponent(String(row.id))}`);
    if (row.result) keepAnswer('get_report', { id: row.id, render: true }, row);
  });
  const mayAsk = useMay('get_report');
  return (
    <>
      <header class="view-head">
        <h1>{String(row.title)}</h1>
        {row.description !== undefined && <p class="quiet">{String(row.description)}</p>}
      </header>
      {(mayAsk || row.result !== undefined) && <Rendered row={row} />}
      {mayAsk && (
        <div class="actions">
          <Button text="Ask again" icon="refresh" onClick={() => invalidate()} />
        </div>
      )}
    </>
  );
}

start(ReportView);
