/** A host of MCP clients, and what its user does to connect an address by signing in. Words in backquotes are typed as they are. */
interface HostSteps {
  readonly name: string;
  readonly steps: readonly string[];
}

const AGREE = 'Sign in here and agree.';

/** Shown at each MCP address, in the dashboard and in the README. The first two call from the internet. */
export function hostSteps(address: string): readonly HostSteps[] {
  const entry = JSON.stringify({ mcpServers: { 'agent-admin': { url: address } } });
  return [
    {
      name: 'Claude',
      steps: ['Settings, Connectors, Add custom connector.', 'Paste the address and choose Connect.', AGREE],
    },
    {
      name: 'ChatGPT',
      steps: [
        'Settings, Apps, Advanced settings: switch Developer mode on.',
        'Create app, paste the address, authentication OAuth.',
        AGREE,
      ],
    },
    {
      name: 'VS Code',
      steps: ['Command palette: `MCP: Add Server`, HTTP.', 'Paste the address and allow the sign-in.', AGREE],
    },
    {
      name: 'Cursor',
      steps: [`In \`~/.cursor/mcp.json\`: \`${entry}\``, 'Settings, MCP: choose Connect beside it.', AGREE],
    },
    {
      name: 'Claude Code',
      steps: [
        `\`claude mcp add --transport http agent-admin ${address}\``,
        'In Claude Code `/mcp`, then Authenticate.',
        AGREE,
      ],
    },
  ];
}
