import { hostSteps } from '../../../oauth/host-steps.ts';

/** A client, and how it is connected to an MCP endpoint. */
export interface Host {
  readonly id: string;
  readonly name: string;
  /** What its user does to connect by signing in, if it can; words in backquotes are typed as they are. */
  readonly signIn?: (url: string) => readonly string[];
  /** What is pasted where it brings a bearer token, if it can. */
  readonly withToken?: (endpoint: Endpoint) => Pasted;
  /** It calls from the servers of its vendor. */
  readonly isHosted?: boolean;
  /** It shows its model no more than about a hundred tools of all servers. */
  readonly showsFew?: boolean;
}

interface Pasted {
  /** What to do, in the order of doing. */
  readonly steps: readonly string[];
  readonly snippet: string;
}

export interface Endpoint {
  /** A short name of letters, digits and dashes. */
  readonly name: string;
  readonly url: string;
  readonly token: string;
}

/** A name for configuration files: letters, digits and dashes. */
export function shortName(name: string): string {
  const short = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return short === '' ? 'agent-admin' : short.slice(0, 40);
}

/** Hosted clients reach only addresses like this. */
export function isPublic(url: string): boolean {
  return new URL(url).protocol === 'https:';
}

const signInTo = (name: string) => (url: string) => hostSteps(url).find((host) => host.name === name)?.steps ?? [];
const json = (value: object) => JSON.stringify(value, null, 2);
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

export const hosts: readonly Host[] = [
  { id: 'claude', name: 'Claude', isHosted: true, signIn: signInTo('Claude') },
  { id: 'chatgpt', name: 'ChatGPT', isHosted: true, signIn: signInTo('ChatGPT') },
  {
    id: 'claude-desktop',
    name: 'Claude Desktop',
    showsFew: true,
    withToken: ({ name, url, token }) => ({
      steps: ['Settings, Developer, Edit Config.', 'Add this, save, and start Claude again. It needs Node.js.'],
      snippet: json({ mcpServers: { [name]: throughProxy(url, token) } }),
    }),
  },
  {
    id: 'claude-code',
    name: 'Claude Code',
    signIn: signInTo('Claude Code'),
    withToken: ({ name, url, token }) => ({
      steps: ['Run this in a terminal.'],
      snippet: `claude mcp add --transport http ${name} ${url} --header "Authorization: Bearer ${token}"`,
    }),
  },
  {
    id: 'cursor',
    name: 'Cursor',
    showsFew: true,
    signIn: signInTo('Cursor'),
    withToken: ({ name, url, token }) => ({
      steps: ['Put this into ~/.cursor/mcp.json.', 'Switch the server on in Settings, MCP.'],
      snippet: json({ mcpServers: { [name]: { url, headers: bearer(token) } } }),
    }),
  },
  {
    id: 'vscode',
    name: 'VS Code',
    showsFew: true,
    signIn: signInTo('VS Code'),
    withToken: ({ name, url, token }) => ({
      steps: ['Command palette: MCP: Open User Configuration.', 'Add this, and press Start above the server.'],
      snippet: json({ servers: { [name]: { type: 'http', url, headers: bearer(token) } } }),
    }),
  },
  {
    id: 'sdk',
    name: 'TypeScript',
    withToken: ({ url, token }) => ({
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
    }),
  },
  {
    id: 'curl',
    name: 'curl',
    withToken: ({ url, token }) => ({
      steps: ['Lists the tools.'],
      snippet: [
        `curl ${url} \\`,
        `  -H 'Authorization: Bearer ${token}' \\`,
        `  -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\`,
        `  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'`,
      ].join('\n'),
    }),
  },
];

/** Claude Desktop starts programs. The header stands in a variable, as the program's argument may hold no space on Windows. */
function throughProxy(url: string, token: string) {
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname);
  // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote puts the variable in
  const args = ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'];
  if (!isPublic(url) && !isLocal) args.push('--allow-http');
  return { command: 'npx', args, env: { AUTHORIZATION: `Bearer ${token}` } };
}
