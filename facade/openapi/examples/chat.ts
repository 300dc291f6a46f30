import type { Examples } from './example.ts';

const threadId = 'thr_06d3jb0q9gvy5m2k1n4h8t6z3c';
const agentId = 'agt_06d3jb0q9gvy5m2k1n4h8t6z3a';
const runId = 'run_06d3jb0q9gvy5m2k1n4h8t6z3r';
const call = { id: 'call_1', tool: 'search', arguments: { q: 'refund' } };
const usage = { inputTokens: 1240, outputTokens: 38 };
const model = 'openai/gpt-5';

const message = {
  id: 'msg_06d3jb0q9gvy5m2k1n4h8t6z3e',
  threadId,
  role: 'assistant' as const,
  content: 'Refunds arrive within 14 days. [Handbook, doc_06d3jb0q9gvy5m2k1n4h8t6z3d]',
  agentId,
  runId,
  usage: { inputTokens: 660, outputTokens: 26 },
  createdAt: '2026-03-02T09:10:04.000Z',
};

const answer = {
  threadId,
  message,
  runId,
  agentId,
  model,
  toolCalls: [{ ...call, ok: true }],
  usage,
  stopReason: 'end' as const,
};

export const chatExamples: Examples = {
  send_chat_message: { input: { message: 'When do refunds arrive?', agentId }, answer },
};

/** The events of the same answer. */
export const chatEvents: readonly (readonly [name: string, data: object])[] = [
  ['run', { runId, threadId, model }],
  ['tool_call', call],
  [
    'tool_result',
    { id: call.id, tool: call.tool, ok: true, content: '{"data": [], "nextCursor": null, "facets": {}}' },
  ],
  ['delta', { text: 'Refunds arrive ' }],
  ['delta', { text: 'within 14 days. [Handbook, doc_06d3jb0q9gvy5m2k1n4h8t6z3d]' }],
  ['final', answer],
];
