import { useState } from 'preact/hooks';
import { useAnswer, useMay } from '../../app.ts';
import { ToolPicker } from '../../components/tool-catalog.tsx';
import { Badge, Empty, ErrorBox, Skeleton } from '../../ui.ts';

interface Explained {
  readonly verdict: string;
  readonly checks: readonly { readonly check: string; readonly verdict: string; readonly rule: string }[];
  readonly required?: { readonly scope?: string; readonly grant?: string };
}

/** Whether a key may call a tool, and which rule decides. */
export function ExplainKey({ id }: { readonly id: string }) {
  const may = useMay('explain_access');
  const [tool, setTool] = useState('');
  if (!may) return <Empty title="Only administrators can look into the rights of a key" />;
  return (
    <div class="overview">
      <ToolPicker name={tool} onPick={setTool} />
      {tool !== '' && <Verdict id={id} tool={tool} />}
    </div>
  );
}

const VERDICTS: Readonly<Record<string, string>> = {
  allowed: 'The key may call it.',
  denied: 'The key may not call it.',
  depends: 'It depends on which record the call is about.',
};

function Verdict({ id, tool }: { readonly id: string; readonly tool: string }) {
  const { data, error } = useAnswer<Explained>('explain_access', { keyId: id, tool });
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={2} />;
  const { scope, grant } = data.required ?? {};
  return (
    <section class="overview" aria-live="polite" aria-label="Verdict">
      <p>
        <strong>{VERDICTS[data.verdict] ?? data.verdict}</strong>
      </p>
      <ul class="stack">
        {data.checks.map(({ check, verdict, rule }) => (
          <li key={check}>
            <Badge value={verdict} /> <span>{rule}</span>
          </li>
        ))}
      </ul>
      {scope !== undefined && (
        <p class="quiet">
          The scope {scope} would allow it{grant !== undefined && `, and so would the grant ${grant}`}.
        </p>
      )}
    </section>
  );
}
