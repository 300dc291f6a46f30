import { useEffect, useState } from 'preact/hooks';
import { boot, setQuery, toSignIn, unifiedEndpoint, useLocation, useMay } from '../app.ts';
import { AWAY, CallError } from '../call-error.ts';
import { Connect } from '../components/connect/connect.tsx';
import { ToolRunner } from '../components/tool-runner.tsx';
import { WhoCanButton } from '../components/who-can-button.tsx';
import { Badge, Code, Empty, ErrorBox, Mono, NamedValue, PageBody, Skeleton } from '../ui.ts';

export function Page() {
  const [document, setDocument] = useState<OpenApi>();
  const [error, setError] = useState<unknown>();
  const { query } = useLocation();
  const typed = query.get('q') ?? '';
  const load = () => {
    setError(undefined);
    fetchDocument().then(setDocument, setError);
  };
  useEffect(load, []);
  const fits = ({ path, summary, tool }: Operation) =>
    `${path} ${summary} ${tool}`.toLowerCase().includes(typed.toLowerCase());
  const operations = document ? operationsOf(document).filter(fits) : [];
  const download = (
    <a href={`${boot.base}/api/v1/openapi`} download="openapi.json">
      OpenAPI document
    </a>
  );
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <PageBody title="API reference" width="narrow" actions={download}>
      <details>
        <summary>Connect a client over MCP</summary>
        <Connect name="agent-admin" url={unifiedEndpoint()} token="ak_…" />
      </details>
      <input
        class="input"
        type="search"
        placeholder="Find an operation"
        aria-label="Find an operation"
        value={typed}
        onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
      />
      {error !== undefined && <ErrorBox error={error} onRetry={load} />}
      {!document && error === undefined && <Skeleton lines={8} />}
      {document && operations.length === 0 && <Empty title="No operation matches">Change the filter.</Empty>}
      {tags.map((tag) => (
        <section key={tag} aria-label={tag}>
          <h2 class="tool-category">{tag}</h2>
          {operations
            .filter((operation) => operation.tag === tag)
            .map((operation) => (
              <OperationRow key={`${operation.method} ${operation.path}`} operation={operation} />
            ))}
        </section>
      ))}
    </PageBody>
  );
}

/** @throws CallError */
async function fetchDocument(): Promise<OpenApi> {
  const path = '/api/v1/openapi';
  const response = await fetch(`${boot.base}${path}`, { credentials: 'same-origin' }).catch(() => undefined);
  const body = await response?.json().catch(() => undefined);
  if (response?.status === 401) toSignIn();
  if (response?.ok && body) return body;
  throw new CallError(path, body?.error === undefined ? AWAY : body);
}

const TONES = { GET: 'good', DELETE: 'alarm' } as const;

function OperationRow({ operation }: { readonly operation: Operation }) {
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
      <div class="actions">
        <WhoCanButton tool={tool} />
      </div>
    </div>
  );
}

type Parameter = Readonly<{ name: string; in: string; required?: boolean; description?: string }>;

interface RawOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

type Operation = ReturnType<typeof operationsOf>[number];

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function operationsOf({ paths, components }: OpenApi) {
  const known = (one: Parameter | { readonly $ref: string }) =>
    '$ref' in one ? components.parameters[one.$ref.replace(/.*\//, '')] : one;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, { summary = '', description = '', tags, operationId = '', parameters = [] }]) => ({
        method: method.toUpperCase(),
        path,
        summary,
        description,
        tag: tags?.[0] ?? 'Other',
        tool: operationId,
        parameters: parameters.flatMap((one) => known(one) ?? []),
      })),
  );
}
