import { useEffect, useState } from 'preact/hooks';
import { boot, setQuery, usePlace } from '../app.ts';
import { Connect } from '../components/connect/connect.tsx';
import { Empty, Skeleton } from '../ui.ts';
import { type OpenApi, type Operation, operationsOf } from './api-reference/open-api.ts';
import { OperationRow } from './api-reference/operation.tsx';
import { unifiedEndpoint } from './keys/endpoint.ts';

/** The REST paths as the server describes them, each to try with the session. */
export function Page() {
  const [document, setDocument] = useState<OpenApi>();
  const { query } = usePlace();
  const typed = query.get('q') ?? '';
  useEffect(() => {
    void fetch(`${boot.base}/api/v1/openapi`, { credentials: 'same-origin' })
      .then((response) => response.json())
      .then(setDocument);
  }, []);
  const operations = document ? operationsOf(document).filter((operation) => fits(operation, typed)) : [];
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <div class="page-body narrow">
      <header class="page-head">
        <h1>API reference</h1>
        <span class="page-actions">
          <a href={`${boot.base}/api/v1/openapi`} download="openapi.json">
            OpenAPI document
          </a>
        </span>
      </header>
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
      {!document && <Skeleton lines={8} />}
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
    </div>
  );
}

function fits({ path, summary, tool }: Operation, typed: string): boolean {
  return `${path} ${summary} ${tool}`.toLowerCase().includes(typed.toLowerCase());
}
