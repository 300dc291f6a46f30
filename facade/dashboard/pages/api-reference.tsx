import { boot } from '../boot.ts';
import { CopyButton } from '../components/code.tsx';
import { Mono } from '../components/small.tsx';

export function Page() {
  const mcp = `${location.origin}${boot.base}/api/v1/mcp`;
  return (
    <div class="page-body">
      <header class="page-head">
        <h1>API reference</h1>
      </header>
      <dl class="fields">
        <div class="fields-row">
          <dt>MCP endpoint</dt>
          <dd>
            <Mono>{mcp}</Mono> <CopyButton value={mcp} />
          </dd>
        </div>
        <div class="fields-row">
          <dt>OpenAPI document</dt>
          <dd>
            <a href={`${boot.base}/api/v1/openapi`}>/api/v1/openapi</a>
          </dd>
        </div>
      </dl>
    </div>
  );
}
