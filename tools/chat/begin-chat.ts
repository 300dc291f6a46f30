import type { Agent } from '../../resources/agent.ts';
import type { AgentRun } from '../../resources/agent-run.ts';
import type { Attachment, AttachmentInput } from '../../resources/attachment.ts';
import type { ThreadRecord } from '../../resources/thread.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import type { Earlier } from '../agents/exports.ts';
import type { StagedFiles } from '../attachments/stage.ts';
import { keepFiles } from '../attachments/thread-files.ts';
import { openThread } from '../core/access/visibility.ts';
import type { HistoryWriters } from '../core/history-writers.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { beginRun, handOver, runningIn } from '../runs/run-records.ts';
import { shortened } from '../search/snippet.ts';
import { appendMessages } from '../threads/messages.ts';
import { sourceOf, startThread } from '../threads/threads.ts';
import type { ChosenModel } from './choose-model.ts';
import { runToContinue } from './continue-run.ts';
import { earlierIn } from './earlier-messages.ts';
import { runDetail } from './idempotent-run.ts';
import { attachmentsOf } from './message-files.ts';

const LONGEST_TITLE = 80;
const MOST_AGENTS = 50;

interface ChatInput {
  readonly message?: string | undefined;
  readonly attachments?: readonly AttachmentInput[] | undefined;
  readonly continue?: string | undefined;
  readonly threadId?: string | undefined;
  readonly model?: string | undefined;
  readonly fallbackModels?: readonly string[] | undefined;
}

export type ChatContext = SteppingContext<
  Readers & TextSearch,
  'not_found' | 'conflict' | 'interrupted' | 'too_large' | 'unsupported_media_type'
>;

export interface StartedChat {
  readonly run: AgentRun;
  readonly threadId: string;
  /** Without the message that is to be answered. */
  readonly earlier: Earlier;
  /** Those of the message, as the thread has them. */
  readonly attachments: readonly Attachment[];
}

interface BeginChatOptions {
  readonly agent: Agent | undefined;
  readonly model: ChosenModel;
  readonly staged: StagedFiles;
}

/** In one transaction: checks that the thread has no run, begins the run and adds the message with its files. */
export function begin(
  asked: ChatInput,
  { agent, model: { id: model }, staged }: BeginChatOptions,
  context: ChatContext,
): Promise<StartedChat> {
  const { principal, server, fail, door, write } = context;
  return write(async (store) => {
    const now = server.now();
    const thread = await threadFor(asked, agent, { store, principal, fail, door, now });
    const other = await runningIn(store, thread.id, server.models.runMs, now);
    if (other) {
      throw fail('conflict', `The thread is busy with the run ${other.id}; send the message when that has ended.`);
    }
    const { message, continue: continues } = asked;
    const held = await store.agentRuns.first({ where: { threadId: thread.id, status: 'waiting' } });
    if (held && held.id !== continues) throw fail('conflict', waitsInThread(held), runDetail(held));
    const asking = { threadId: thread.id, principal, now };
    const continued = continues && (await runToContinue(store, { id: continues, ...asking }, fail));
    if (continued) await handOver(store, continued, now);
    const { waitsFor, resumesAs } = continued || {};
    const run = await beginRun(
      store,
      { kind: 'chat', agent, model, chosen: asked, thread, continues, ...(waitsFor && { waitsFor, resumesAs }) },
      context,
    );
    const attachments = attachmentsOf(staged);
    const content = message ?? (attachments.length > 0 ? '' : undefined);
    const earlier = await earlierIn(store, thread, content, attachments);
    if (earlier.isThere) return { run, threadId: thread.id, earlier, attachments: earlier.last?.attachments ?? [] };
    if (content !== undefined) {
      await keepFiles(store, thread.id, staged.files);
      const files = attachments.length > 0 ? { attachments } : {};
      await appendMessages(store, thread, [{ role: 'user', content, ...files, runId: run.id }]);
    }
    return { run, threadId: thread.id, earlier, attachments };
  });
}

function waitsInThread({ id, waitsFor = [] }: AgentRun): string {
  const calls = waitsFor.map(({ tool, approvalId }) => `${tool} (${approvalId})`).join(', ');
  return `The thread waits for approval to ${calls}, and goes on after that; cancel_agent_run {"id": "${id}"} gives it up.`;
}

interface RunOrigin extends Pick<ChatContext, 'principal' | 'fail' | 'door'> {
  readonly store: HistoryWriters;
  readonly now: Date;
}

async function threadFor(asked: ChatInput, agent: Agent | undefined, beginning: RunOrigin): Promise<ThreadRecord> {
  const { store, principal, fail, door, now } = beginning;
  if (asked.threadId === undefined) {
    const named = asked.message ?? asked.attachments?.[0]?.name ?? 'Files';
    const title = shortened(named, LONGEST_TITLE);
    const agentIds = agent && [agent.id];
    return startThread(
      store,
      principal,
      { title, source: sourceOf(door, 'chat'), agentIds, visibility: 'workspace' },
      now,
    );
  }
  const thread = await openThread(beginning, asked.threadId, 'editor');
  if (thread.status === 'archived') {
    throw fail('conflict', 'The thread is archived; update_thread {status: "active"} opens it again.');
  }
  const agentIds = thread.agentIds ?? [];
  if (!agent || agentIds.includes(agent.id) || agentIds.length >= MOST_AGENTS) return thread;
  return store.threads.touch(thread.id, { agentIds: [...agentIds, agent.id] });
}
