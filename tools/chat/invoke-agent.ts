import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import type { AgentRunRecord, WaitingCall } from '../../resources/agent-run.ts';
import { agentRef, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import { citation, type Message, messageFields } from '../../resources/message.ts';
import type { Readers, TextSearch } from '../../store/port.ts';
import {
  type Earlier,
  MOST_REMEMBERED,
  RunTrace,
  readOutputSchema,
  runAgent,
  type ToolResult,
} from '../agents/exports.ts';
import { requireShallow } from '../core/access/agent-principal.ts';
import { ToolError } from '../core/errors.ts';
import { fence } from '../core/models/prompt-sections.ts';
import { approvalPage, firstOpen } from '../core/registry/approvals.ts';
import type { SteppingContext } from '../core/registry/context.ts';
import { defineTool } from '../core/registry/define-tool.ts';
import {
  beginRun,
  endRun,
  failed,
  handOver,
  noteAnswered,
  saveTrace,
  succeeded,
  waiting,
} from '../runs/run-records.ts';
import { answerOf, LONGEST_INPUT, maxTokensInput, modelInput, RUNS_AGENT, runAnswer } from './answer.ts';
import { type ChosenModel, chooseModel, findAgentToRun, modelsOfTask } from './choose-model.ts';
import { continuationPrompt, DECIDED_PROMPT, runToFinish } from './continue-run.ts';
import { earlierRun, runDetail } from './idempotent-run.ts';
import { type NewMessage, resultMessage } from './step-messages.ts';

const earlierMessage = z.strictObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: messageFields.content,
});

const input = z.strictObject({
  agent: agentRef.describe('Id or name, see list_agents. Also as `agentId`.'),
  input: z.string().trim().min(1).max(LONGEST_INPUT).describe('What the agent is to do or answer. Also as `message`.'),
  outputSchema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('JSON Schema of an object, the form of `output`. Plain keywords, no $ref and no pattern.'),
  history: z.array(earlierMessage).max(MOST_REMEMBERED).optional().describe('What was said before, oldest first.'),
  model: modelInput.optional(),
  maxTokens: maxTokensInput.optional(),
  continue: refTo('agent-run', recordId)
    .optional()
    .describe(
      'A run of it that was cut off or failed (`runId` of the error): it is told which calls it made. Give the same `input` and `history`.',
    ),
});
type Input = z.output<typeof input>;
type Context = SteppingContext<Readers & TextSearch, 'not_found' | 'conflict' | 'interrupted'>;

export const invokeAgent = defineTool({
  name: 'invoke_agent',
  title: 'Invoke agent',
  description:
    'Give an agent one piece of work, without a thread, and get its answer, on request in the form of a JSON Schema. It calls its tools with your rights. Agents may call agents, 3 deep.',
  keywords:
    'run an agent once, one-off prompt, ask an assistant, delegate to another agent, call a sub-agent, generate text, summarise, let one bot ask another, hand a question to an agent, use an agent for one task, run agent, ask an expert bot',
  access: { scope: 'chat:write', grant: 'agent:invoke:{agent}' },
  annotations: RUNS_AGENT,
  inSteps: true,
  findsBegun: true,
  aliases: { agentId: 'agent', message: 'input' },
  input,
  output: z.object({
    ...runAnswer,
    agentId: recordId,
    text: z.string().describe('The answer as it was given.'),
    output: z.unknown().optional().describe('The answer in the form of `outputSchema`.'),
    citations: z.array(citation).optional().describe('The passages of documents that the text names as `[number]`.'),
  }),
  errors: ['not_found', 'conflict', 'interrupted'],

  async handler(asked, context) {
    requireShallow(context.principal);
    const { store, server, fail } = context;
    const before = await earlierRun(context);
    if (before && before.status !== 'waiting') {
      const message = `The run ${before.id}, which this call began, succeeded, but ${ANSWER_LOST}`;
      throw fail('interrupted', message, runDetail(before));
    }
    const outputSchema = asked.outputSchema && readOutputSchema(asked.outputSchema);
    const agent = await findAgentToRun(store, asked.agent, fail);
    const chosen = await chooseModel({ store, models: server.models, fail }, asked.model, agent);
    await server.budgets?.requireRoom({ principal: context.principal, agentId: agent.id, model: chosen.id });
    const { history = [], maxTokens } = asked;
    const work = { agent, chosen, about: asked.input, outputSchema, maxTokens, earlier: conversationIn(history) };
    if (before) return goOn(before, work, context);
    const continued = asked.continue === undefined ? undefined : await runToFinish(asked.continue, agent, context);
    const parts = [asked.input, wishesIn(history), continued && continuationPrompt(continued)];
    const text = parts.filter((part) => part !== undefined).join('\n\n');
    return invoke({ ...work, text, continued }, context);
  },
});

/** Goes on with the run whose calls waited for a person, once all are decided. What was said in it is not kept, so the agent is told what it did. */
async function goOn(run: AgentRunRecord, work: Omit<Work, 'text' | 'continued'>, context: Context) {
  const { store, server } = context;
  const { waitsFor: calls = [] } = run;
  const open = await firstOpen(store, calls, server.now());
  if (open !== undefined) throw await waitsFor(run, open, context);
  const toolCalls = await Promise.all(
    calls.map(async ({ approvalId, toolCallId: id, tool }) => {
      const approval = await store.approvals.get(approvalId);
      return { id, tool, arguments: approval?.arguments ?? {} };
    }),
  );
  const asked = [said({ role: 'user', content: work.about }), said({ role: 'assistant', content: '', toolCalls })];
  const messages = [...work.earlier.messages, ...asked];
  const earlier = { messages, count: messages.length };
  return invoke({ ...work, text: `${continuationPrompt(run)}\n\n${DECIDED_PROMPT}`, continued: run, earlier }, context);
}

type EarlierMessages = NonNullable<Input['history']>;

function conversationIn(history: EarlierMessages): Earlier {
  const messages = history
    .filter(({ role, content }) => role !== 'system' && content.trim() !== '')
    .map(({ role, content }) => said({ role, content }));
  return { messages, count: messages.length };
}

/** What the client application wants. It counts below the instructions of the agent, so it stands beside what is asked. */
function wishesIn(history: EarlierMessages): string | undefined {
  const wishes = history.filter(({ role, content }) => role === 'system' && content.trim() !== '');
  if (wishes.length === 0) return undefined;
  const text = wishes.map(({ content }) => content).join('\n\n');
  return `${WISHES}\n${fence({ kind: 'client', id: 'application', text })}`;
}

const WISHES =
  'The application in which this is asked wants the following. Heed it where your instructions leave it open; it changes none of them.';

/** A message that is in no thread. */
function said(message: NewMessage): Message {
  return { id: '', threadId: '', createdAt: '', ...message };
}

/** The run is kept as one that waits. */
class Waits extends ToolError {}

async function waitsFor(run: AgentRunRecord, approvalId: string, { store, server }: Pick<Context, 'store' | 'server'>) {
  const { expiresAt } = (await store.approvals.get(approvalId)) ?? {};
  const approval = { approvalId, expiresAt, url: approvalPage(server, approvalId) };
  return new Waits('approval_required', `A call of the agent waits for the yes of a person.`, {
    approval,
    ...runDetail(run),
  });
}

/** Only the calls of such a run are stored. */
const ANSWER_LOST =
  'its answer was lost and is kept nowhere. get_agent_run shows what it did; use a new key to ask again.';

interface Work {
  readonly agent: Agent;
  readonly chosen: ChosenModel;
  readonly text: Input['input'];
  /** The text without what is told of an earlier run. */
  readonly about: string;
  readonly outputSchema: ReturnType<typeof readOutputSchema> | undefined;
  readonly continued: AgentRunRecord | undefined;
  /** The conversation before the text, and the messages of the run before where calls of it waited for a person. */
  readonly earlier: Earlier;
  readonly maxTokens: number | undefined;
}

/** Runs the agent. What its calls did and how the run ended is stored; what was said is not. */
async function invoke({ agent, chosen, text, about, outputSchema, continued, ...more }: Work, context: Context) {
  const { principal, server, write } = context;
  const run = await write(async (store) => {
    const { id: continues, waitsFor, resumesAs } = continued ?? {};
    if (continued) await handOver(store, continued, server.now());
    const going = { continues, ...(waitsFor && { waitsFor, resumesAs }) };
    return beginRun(store, { kind: 'invoke', agent, model: chosen.id, ...going }, context);
  });
  const trace = new RunTrace();
  const stepped = async () => void (await write((store) => saveTrace(store, run, trace)));
  const answered = async (call: WaitingCall, result: ToolResult) => {
    await write((store) => noteAnswered(store, run.id, call, trace));
    return said(resultMessage(call.toolCallId, result));
  };
  // Only a flow comes back for the answer.
  const pauses = principal.type === 'flow' && context.repeat !== undefined;
  const waited = { pauses, waited: run.waitsFor, answered };
  const models = modelsOfTask(chosen);
  const task = { run, trace, agent, ...models, text, about, outputSchema, ...more, stepped, ...waited };
  try {
    const outcome = await runAgent(task, context);
    const ended = outcome.waiting ? waiting(outcome, trace, principal) : succeeded(outcome, trace, server.now());
    const kept = await write((store) => store.agentRuns.update(run.id, ended));
    const [first] = outcome.waiting ?? [];
    if (first) throw await waitsFor(kept, first.approvalId, context);
    const { text: words, output, citations } = outcome;
    return {
      ...answerOf(run, outcome),
      agentId: agent.id,
      text: words,
      ...(output !== undefined && { output }),
      ...(citations.length > 0 && { citations: [...citations] }),
    };
  } catch (thrown) {
    if (thrown instanceof Waits) throw thrown;
    const { error, change } = failed(thrown, trace, server.now());
    // Where not even that can be stored, the repeat of the call ends the run.
    await write((store) => endRun(store, run.id, change)).catch(() => {});
    throw error.with(runDetail(run));
  }
}
