import { useState } from 'preact/hooks';
import { hostSteps } from '../../../oauth/host-steps.ts';
import { Code } from '../code.tsx';
import { Segments } from '../tabs.tsx';

/** How to connect a client, for each usual one. */
export function Connect(endpoint: Endpoint) {
  const hosts = hostsFor(endpoint);
  const [picked, setPicked] = useState(hosts[0]?.id ?? '');
  const host = hosts.find(({ id }) => id === picked);
  return (
    <section class="connect" aria-label="Connect a client">
      <Segments
        label="Client"
        value={picked}
        options={hosts.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={setPicked}
      />
      {host && (
        <>
          {host.steps.length > 1 ? (
            <ol class="connect-steps">
              {host.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          ) : (
            <p class="quiet">{host.steps[0]}</p>
          )}
          {host.snippet !== undefined && <Code value={host.snippet} label={`For ${host.name}`} />}
        </>
      )}
    </section>
  );
}

/** A name for configuration files: letters, digits and dashes. */
export function shortName(name: string): string {
  const short = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return short === '' ? 'agent-admin' : short.slice(0, 40);
}

/** A client, and what its user pastes or types to connect it. */
export interface Host {
  readonly id: string;
  readonly name: string;
  /** What to do, in the order of doing. */
  readonly steps: readonly string[];
  /** What is pasted, where that is more than the address. */
  readonly snippet?: string;
}

export interface Endpoint {
  /** A short name of letters, digits and dashes. */
  readonly name: string;
  readonly url: string;
  /** A bearer token, or a placeholder for it. */
  readonly token: string;
}

/** How each usual client is connected to an MCP endpoint, first those that reach it. */
function hostsFor(endpoint: Endpoint): readonly Host[] {
  const own = [...withToken(endpoint), ...programs(endpoint)];
  if (new URL(endpoint.url).protocol === 'https:') return [...signingIn(endpoint), ...own];
  return [...own, ...signingIn(endpoint).map((host) => ({ ...host, steps: [...NEEDS_HTTPS, ...host.steps] }))];
}

/** Hosted clients call from their own servers. */
const NEEDS_HTTPS = ['First give this server an https address that the internet reaches (BASE_URL).'];

function signingIn({ url }: Endpoint): Host[] {
  const hosted = hostSteps(url).slice(0, 2);
  return hosted.map(({ name, steps }) => ({ id: name.toLowerCase(), name, steps, snippet: url }));
}

function withToken({ name, url, token }: Endpoint): Host[] {
  const headers = { Authorization: `Bearer ${token}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  return [
    {
      id: 'claude-code',
      name: 'Claude Code',
      steps: ['Run this in a terminal.'],
      snippet: `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer ${token}"`,
    },
    {
      id: 'claude-desktop',
      name: 'Claude Desktop',
      steps: ['Settings, Developer, Edit Config.', 'Add this, save, and start Claude again.'],
      snippet: json({
        mcpServers: {
          [name]: { command: 'npx', args: ['-y', 'mcp-remote', url, '--header', `Authorization: Bearer ${token}`] },
        },
      }),
    },
    {
      id: 'vscode',
      name: 'VS Code',
      steps: ['Put this into .vscode/mcp.json.', 'Press Start above the server in that file.'],
      snippet: json({ servers: { [name]: { type: 'http', url, headers } } }),
    },
    {
      id: 'cursor',
      name: 'Cursor',
      steps: ['Put this into ~/.cursor/mcp.json.', 'Switch the server on in Settings, MCP.'],
      snippet: json({ mcpServers: { [name]: { url, headers } } }),
    },
  ];
}

function programs({ url, token }: Endpoint): Host[] {
  return [
    {
      id: 'sdk',
      name: 'TypeScript',
      steps: ['npm install @modelcontextprotocol/client'],
      snippet: [
        `import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';`,
        '',
        `const client = new Client({ name: 'my-agent', version: '1.0.0' });`,
        'await client.connect(',
        `  new StreamableHTTPClientTransport(new URL('${url}'), {`,
        `    requestInit: { headers: { Authorization: 'Bearer ${token}' } },`,
        '  }),',
        ');',
        'console.log(await client.listTools());',
      ].join('\n'),
    },
    {
      id: 'curl',
      name: 'curl',
      steps: ['Lists the tools.'],
      snippet: [
        `curl ${url} \\`,
        `  -H 'Authorization: Bearer ${token}' \\`,
        `  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\`,
        `  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`,
      ].join('\n'),
    },
  ];
}
