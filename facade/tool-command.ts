import { readClientConfig } from './client-config.ts';
import { explainExit } from './explain-exit.ts';

const USAGE = `Usage: npm run tool -- <tool> ['<json>']

Calls a tool of the running server and prints its output as JSON.
Environment: API_KEY (required), BASE_URL (default http://127.0.0.1:3000).
Example: npm run tool -- get_agent '{"id": "agt_…"}'`;

interface RpcAnswer {
  readonly result?: {
    readonly isError?: boolean;
    readonly structuredContent?: unknown;
    readonly content: readonly { readonly text?: string }[];
  };
  readonly error?: string | { readonly message: string };
}

/** Prints the output of the call to standard output, or the error to standard error; returns the exit code. */
async function main([name, json = '{}', ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || rest.length > 0) return refuse(USAGE);
  const { mcpUrl, apiKey } = readClientConfig(process.env);
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch {
    return refuse(`The input is not valid JSON: ${json}\n\n${USAGE}`);
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  let response: Response;
  try {
    response = await fetch(mcpUrl, { method: 'POST', headers, body: JSON.stringify(call) });
  } catch {
    return refuse(`No server answers at ${mcpUrl.origin}; start it with npm start, or set BASE_URL.`);
  }
  const { result, error } = (await response.json()) as RpcAnswer; // of our own server
  if (!result) return refuse(typeof error === 'string' ? error : (error?.message ?? `HTTP ${response.status}`));
  if (result.isError) return refuse(pretty(JSON.parse(result.content[0]?.text ?? 'null')));
  console.log(pretty(result.structuredContent));
  return 0;
}

function refuse(message: string): number {
  console.error(message);
  return 1;
}

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
}, explainExit);
