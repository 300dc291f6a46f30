import { fileURLToPath } from 'node:url';

export interface Welcome {
  readonly baseUrl: string;
  readonly key: string;
  /** Signs the owner in. */
  readonly signInUrl: string;
}

/** What the first start prints: everything works as pasted. */
export function welcome({ baseUrl, key, signInUrl }: Welcome): string {
  const folder = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
  const claude = {
    mcpServers: {
      'agent-admin': {
        command: process.execPath,
        args: [`${folder}/facade/launch/launch.mjs`, 'stdio'],
        env: { BASE_URL: baseUrl, API_KEY: key },
      },
    },
  };
  return `
This is the first start on an empty store. An admin key was made; it is shown this once:

  ${key}

Try it:

  curl -H 'Authorization: Bearer ${key}' ${baseUrl}/api/v1/agents

Sign in as the owner, once and within 10 minutes (npm run tool -- create_sign_in_link makes more links):

  ${signInUrl}

Claude Desktop (claude_desktop_config.json):

${JSON.stringify(claude, null, 2)}
`;
}
