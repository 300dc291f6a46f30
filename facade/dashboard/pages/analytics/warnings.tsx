import { counted } from '../../format.ts';
import type { MetricAnswer } from './metrics.ts';

/** Which rows were left out of a metric, and what about the range its numbers do not follow. */
export function Warnings({ answer: { warnings = [] } }: { readonly answer: MetricAnswer }) {
  return (
    <>
      {warnings.map(({ reason, type, rows, currency }) => (
        <p key={`${reason} ${type} ${currency}`} class="note warn">
          {rows === undefined ? reason : `${counted(rows, 'row')} of ${type} in ${currency} left out. ${reason}`}
        </p>
      ))}
    </>
  );
}
