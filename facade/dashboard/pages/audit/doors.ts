/** By what a call came, in words. */
export const DOORS: Readonly<Record<string, string>> = {
  rest: 'REST API',
  mcp: 'MCP',
  capsule: 'Capsule',
  stdio: 'Local program',
  agent: 'Agent',
  flow: 'Flow',
  dashboard: 'Dashboard',
  webhook: 'Webhook',
  openai: 'OpenAI API',
};
