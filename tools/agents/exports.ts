/** What other groups use of the running of agents. */

export type { ToolResult } from './run/agent-tools.ts';
export { MOST_REMEMBERED } from './run/conversation-history.ts';
export type { Step } from './run/loop.ts';
export { readOutputSchema } from './run/output-schema.ts';
export { RunEnded, type RunOutcome, runAgent } from './run/run-agent.ts';
export { RunTrace } from './run/run-reporter.ts';
export type { Earlier } from './run/summary.ts';
