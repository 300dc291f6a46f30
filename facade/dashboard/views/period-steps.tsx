import { useState } from 'preact/hooks';
import { call } from '../client.ts';
import { Button } from '../components/button.tsx';
import { ErrorBox } from '../components/error-box.tsx';
import { useAction } from '../components/use-action.ts';
import type { MetricAnswer } from '../pages/analytics/metrics.ts';
import { setQuery } from '../router.ts';

interface StepsProps {
  readonly tool: string;
  /** The input of what is shown. */
  readonly asked: object;
  readonly shown: MetricAnswer | undefined;
  readonly query: URLSearchParams;
}

type Range = Readonly<Record<'span' | 'from' | 'to', string | undefined>>;

interface Step {
  readonly before: Range;
  /** What stood in the query after the step. */
  readonly after: string;
}

/** One period back, as the server counts periods, and forward again. */
export function PeriodSteps({ tool, asked, shown, query }: StepsProps) {
  const [steps, setSteps] = useState<readonly Step[]>([]);
  const { busy, error, run } = useAction();
  const last = steps.at(-1);
  const canReturn = last?.after === rangeText(rangeIn(query));
  const back = async () => {
    const { previous } = shown?.previous ? shown : await call<MetricAnswer>(tool, asked);
    if (!previous) return;
    const next = { span: 'own', from: previous.from, to: previous.to };
    setSteps([...(canReturn ? steps : []), { before: rangeIn(query), after: rangeText(next) }]);
    setQuery(next);
  };
  const forward = () => {
    setSteps(steps.slice(0, -1));
    if (last) setQuery(last.before);
  };
  return (
    <>
      <div class="actions">
        <Button text="Previous period" icon="back" busy={busy} onClick={() => void run(back)} />
        {canReturn && <Button text="Next period" icon="next" onClick={forward} />}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
    </>
  );
}

function rangeIn(query: URLSearchParams): Range {
  const [span, from, to] = ['span', 'from', 'to'].map((name) => query.get(name) ?? undefined);
  return { span, from, to };
}

function rangeText({ span, from, to }: Range): string {
  return [span, from, to].join(' ');
}
