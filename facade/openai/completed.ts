import type { ServerResponse } from 'node:http';
import type { Answer, Progress } from '../../tools/core/registry/call.ts';
import type { CompletionRequest } from './request.ts';

export interface Completed {
  /** That of the run, see get_agent_run. */
  readonly id: string;
  readonly text: string;
  readonly finishReason: 'stop' | 'length' | 'content_filter';
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
  readonly metadata: Readonly<Record<string, string>>;
}

/** What invoke_agent and send_chat_message answer. */
interface ToolOutput {
  readonly runId: string;
  readonly threadId?: string;
  readonly text?: string;
  readonly message?: { readonly content: string };
  readonly output?: unknown;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly stopReason: string;
}

/** What is told of a run while it goes on. */
export class RunNotes {
  readonly #response: ServerResponse;
  /** The pages on which a person decides about calls of it. */
  readonly waits = new Map<string, string>();
  runId = '';

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  note({ event }: Progress): void {
    const { runId, threadId, tool, approval } = (event?.data ?? {}) as Noted; // the events of RunReporter
    if (event?.name === 'run' && runId !== undefined) {
      this.runId = runId;
      if (this.#response.headersSent) return;
      this.#response.setHeader('X-Run-Id', runId);
      if (threadId !== undefined) this.#response.setHeader('X-Thread-Id', threadId);
    }
    if (event?.name === 'tool_result' && approval && tool !== undefined) this.waits.set(approval.url, tool);
  }

  /** What the text does not say yet of calls that wait for a person. */
  unsaid(text: string): string {
    const lines = [...this.waits].flatMap(([url, tool]) => (text.includes(url) ? [] : [`${tool}: ${url}`]));
    return lines.length === 0 ? '' : `\n\n(Waits for approval:\n${lines.join('\n')})`;
  }
}

interface Noted {
  readonly runId?: string;
  readonly threadId?: string;
  readonly tool?: string;
  readonly approval?: { readonly url: string };
}

/** Undefined where the answer is an error. A call that waits for a person is answered with the words that say so. */
export function completedBy(answer: Answer, { hasForm }: CompletionRequest, notes: RunNotes): Completed | undefined {
  if (!answer.ok) return waitingBy(answer, notes);
  const { runId, threadId, text, message, output, usage, stopReason } = answer.output as ToolOutput; // as both tools declare it
  const said = hasForm ? JSON.stringify(output) : (text ?? message?.content ?? '');
  const { inputTokens, outputTokens } = usage;
  return {
    id: runId,
    text: hasForm ? said : said + notes.unsaid(said),
    finishReason: stopReason === 'length' || stopReason === 'content_filter' ? stopReason : 'stop',
    usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens },
    metadata: { run_id: runId, ...(threadId !== undefined && { thread_id: threadId }) },
  };
}

function waitingBy(answer: Extract<Answer, { readonly ok: false }>, { runId }: RunNotes): Completed | undefined {
  const { code, error, url, approvalId, requestId } = answer.error;
  if (code !== 'approval_required') return undefined;
  return {
    id: runId === '' ? requestId : runId,
    text: [error, url].filter((part) => part !== undefined).join('\n'),
    finishReason: 'stop',
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    metadata: { ...(approvalId !== undefined && { approval_id: approvalId }) },
  };
}
