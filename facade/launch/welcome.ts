import { howToRun, stdioProgram } from '../config/how-to-run.ts';
import type { FirstKeys } from './first-start.ts';

interface Welcome {
  readonly baseUrl: string;
  readonly keys: FirstKeys;
  readonly email: string;
  readonly signInUrl: string;
}

/** The text of the first start. Everything in it works as pasted. A key that the operator gave is not repeated. */
export function welcome({ baseUrl, keys, email, signInUrl }: Welcome): string {
  const key = keys.adminIsGiven ? '$BOOTSTRAP_API_KEY' : keys.admin;
  return `
This is the first start on an empty store. ${keys.adminIsGiven ? GIVEN : `An admin key was made; it is shown this once:\n\n  ${key}`}

Try it:

  curl -H "Authorization: Bearer ${key}" ${baseUrl}/api/v1/agents

Sign in as the owner, once and within 10 minutes:

  ${signInUrl}

Another link, later:

  API_KEY="${key}" BASE_URL=${baseUrl} ${howToRun('tool')} create_sign_in_link '${JSON.stringify({ email }).replaceAll("'", "'\\''")}'

Claude Desktop (claude_desktop_config.json). The key in it was made for this client and is shown this once: it reads and writes, and
administers nothing. Many hosts show a model no more than 128 tools, so MODE has three listed that lead to all others; leave it out
where yours takes more.

${JSON.stringify(clientBlock(baseUrl, keys.client), null, 2)}
`;
}

const GIVEN = 'The admin key is the one in BOOTSTRAP_API_KEY.';

function clientBlock(baseUrl: string, key: string) {
  const env = { BASE_URL: baseUrl, API_KEY: key, MODE: 'search' };
  return { mcpServers: { 'agent-admin': { ...stdioProgram(), env } } };
}
