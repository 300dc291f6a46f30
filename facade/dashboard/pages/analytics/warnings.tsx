import { counted } from '../../format.ts';
import type { MetricAnswer } from './metrics.ts';

/** Which rows were left out of a metric, and why. */
export function Warnings({ answer: { warnings = [] } }: { readonly answer: MetricAnswer }) {
  return (
    <>
      {warnings.map(({ reason, type, rows, currency }) => (
        <p key={`${reason} ${type} ${currency}`} class="note warn">
          {`${counted(rows, 'row')} of ${type} in ${currency} left out. ${reason}`}
        </p>
      ))}
    </>
  );
}
