/** What other groups use of the running of agents. */

export { LONGEST_ARGUMENTS, type ToolResult } from './run/agent-tools.ts';
export { openInner } from './run/answer-waiting.ts';
export { MOST_REMEMBERED } from './run/conversation-history.ts';
export type { Step } from './run/loop.ts';
export { readOutputSchema } from './run/output-schema.ts';
export type { ReadPromptFile } from './run/prompt-files.ts';
export { type RunOutcome, runAgent } from './run/run-agent.ts';
export { cancelled, RunEnded } from './run/run-clock.ts';
export { RunTrace } from './run/run-reporter.ts';
export type { Earlier } from './run/summary.ts';
