import { fileURLToPath } from 'node:url';

/** What the first start prints: everything works as pasted. */
export function welcome(baseUrl: string, key: string): string {
  const folder = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
  const claude = {
    mcpServers: {
      'agent-admin': {
        command: process.execPath,
        args: ['--import', `${folder}/node_modules/tsx/dist/esm/index.mjs`, `${folder}/facade/stdio.ts`],
        env: { BASE_URL: baseUrl, API_KEY: key },
      },
    },
  };
  return `
This is the first start on an empty store. An admin key was made; it is shown this once:

  ${key}

Try it:

  curl -H 'Authorization: Bearer ${key}' ${baseUrl}/api/v1/agents

Claude Desktop (claude_desktop_config.json):

${JSON.stringify(claude, null, 2)}
`;
}
