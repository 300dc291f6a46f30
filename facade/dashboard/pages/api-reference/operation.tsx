import { boot, useMay } from '../../app.ts';
import { ToolRunner } from '../../components/tool-runner.tsx';
import { Badge, Code, Mono, NamedValue } from '../../ui.ts';
import type { Operation } from './open-api.ts';

const TONES = { GET: 'good', DELETE: 'alarm' } as const;

/** One operation: its path, its parameters, a line for curl, and a form to try it. */
export function OperationRow({ operation }: { readonly operation: Operation }) {
  const { method, path, summary } = operation;
  return (
    <details class="operation">
      <summary>
        <Badge tone={TONES[method as keyof typeof TONES] ?? 'warn'}>{method}</Badge> <Mono>{path}</Mono>{' '}
        <span class="quiet">{summary}</span>
      </summary>
      <Inside operation={operation} />
    </details>
  );
}

function Inside({ operation: { method, path, description, parameters, tool } }: { readonly operation: Operation }) {
  const may = useMay(tool);
  const body = ['POST', 'PUT', 'PATCH'].includes(method) ? ` \\\n  -H 'Content-Type: application/json' -d '{}'` : '';
  const line = `curl -X ${method} ${location.origin}${boot.base}${path} \\\n  -H 'Authorization: Bearer ak_…'${body}`;
  return (
    <div class="overview">
      {description && <p class="quiet">{description.replaceAll('`', '')}</p>}
      {parameters.length > 0 && (
        <dl class="fields">
          {parameters.map(({ name, in: place, required, description: about }) => (
            <NamedValue key={`${place} ${name}`} name={<Mono>{name}</Mono>}>
              <span class="faint">{`${place}${required ? ', required' : ''}`}</span> {about?.replaceAll('`', '')}
            </NamedValue>
          ))}
        </dl>
      )}
      <Code value={line} label={`curl for ${method} ${path}`} />
      {may && (
        <details>
          <summary>Try it</summary>
          <ToolRunner name={tool} />
        </details>
      )}
    </div>
  );
}
