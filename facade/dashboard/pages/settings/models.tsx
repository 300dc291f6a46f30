import { ErrorBox } from '../../components/error-box.tsx';
import { Mono } from '../../components/small.tsx';
import { Shown } from '../../components/tool-runner.tsx';
import { Skeleton } from '../../components/waiting.tsx';
import type { Row } from '../../kind/spec.ts';
import { useAnswer } from '../../store.ts';
import { useTool } from '../../tools.ts';

/** The models that agents can have, by the keys that the server was started with. */
export function ModelsList() {
  const { data, error } = useAnswer<Row>('list_models');
  const schema = useTool('list_models')?.outputSchema;
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={4} />;
  return (
    <>
      <p class="quiet">
        More appear when the server is started with <Mono>OPENAI_API_KEY</Mono>, <Mono>ANTHROPIC_API_KEY</Mono> or{' '}
        <Mono>MODEL_BASE_URL</Mono>.
      </p>
      <Shown answer={data} schema={schema} />
    </>
  );
}
