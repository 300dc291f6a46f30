import type { Answer, Call } from '../../tools/core/registry/call.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { challengeOf } from '../http/authenticate.ts';
import { HeldFiles } from '../http/held-files.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sendJson } from '../http/respond.ts';
import { type Completed, completedBy, RunNotes } from './completed.ts';
import { CompletionStream } from './completion-stream.ts';
import { noModel, openAiError, sendFailure } from './errors.ts';
import { type AgentPage, askForAgents } from './models.ts';
import { type CompletionRequest, readRequest } from './request.ts';

/** One chat completion: a call of invoke_agent, or of send_chat_message where a thread is named. */
export async function completeChat(registry: Registry, context: RequestContext): Promise<void> {
  const { response } = context;
  await context.beforeCall();
  const created = Math.floor(registry.server.now().getTime() / 1000);
  const held = new HeldFiles();
  const mayAttach = registry.list(context.principal).some(({ tool }) => TOOLS.includes(tool.name));
  const request = await readRequest(context, { held, mayAttach }).catch((problem: unknown) => ({ problem }));
  const asked = 'problem' in request ? undefined : request;
  const notes = new RunNotes(response);
  const stream = asked?.stream ? new CompletionStream(response, { ...asked, created, notes }) : undefined;
  const onProgress: Call['onProgress'] = (progress) => {
    notes.note(progress);
    if (stream && !response.writableEnded && !stream.follow(progress)) giveUp(context, stream, notes);
  };
  const answer = await callTool(registry, context, { request, held, onProgress }).finally(() => held.release());
  stream?.stop();
  if (response.writableEnded || response.destroyed) return;
  if (answer.replayed && !response.headersSent) response.setHeader('Idempotency-Replayed', 'true');
  const completed = asked && completedBy(answer, asked, notes);
  if (asked && completed) {
    if (stream?.isAhead) return giveUp(context, stream, notes);
    return stream ? stream.finish(completed) : sendCompletion(context, asked, { completed, created });
  }
  if (answer.ok) throw new Error('An answer without a request.');
  if (stream?.isOpen) return stream.fail(openAiError(answer.error));
  if (asked && isAboutModel(registry, context, asked, answer)) return noModel(response, asked.model, reasonOf(answer));
  sendFailure(response, { ...answer, ...challengeOf(context.request) });
}

/** Ends the stream with an error, and the run with it, unless its answer is kept for who asks again. */
function giveUp(context: RequestContext, stream: CompletionStream, { runId }: RunNotes): void {
  const message = `The answer of the model broke off in the run ${runId}; look at what that run did, then send the message again.`;
  stream.fail({ message, type: 'server_error', param: null, code: 'cut_off', run_id: runId });
  if (context.request.headers['idempotency-key'] === undefined) context.abort();
}

/** The tools that a completion may be a call of. */
const TOOLS: readonly string[] = ['invoke_agent', 'send_chat_message'] satisfies CompletionRequest['tool'][];

interface Calling {
  readonly request: CompletionRequest | { readonly problem: unknown };
  readonly held: HeldFiles;
  readonly onProgress: Call['onProgress'];
}

function callTool(
  registry: Registry,
  context: RequestContext,
  { request: asked, held, onProgress }: Calling,
): Promise<Answer> {
  const { request, requestId, principal, url } = context;
  const key = request.headers['idempotency-key'];
  const attached = held.bytes.length > 0 ? held : undefined;
  const idempotency = typeof key === 'string' ? { key, operation: `POST ${url.pathname}` } : undefined;
  return registry.call({
    principal,
    tool: 'problem' in asked ? 'invoke_agent' : asked.tool,
    input: {},
    readInput: async () => {
      if ('problem' in asked) throw asked.problem; // as part of the call, so that it is in the audit log
      return inputFor(registry, context, asked);
    },
    attached: () => attached,
    door: 'openai',
    requestId,
    idempotency,
    client: request.headers['user-agent'],
    // A client that repeats a call asks for its answer again, so that call continues when its client goes away.
    signal: idempotency === undefined ? context.signal : undefined,
    checkCredential: () => context.checkCredential(),
    onProgress,
  });
}

/** The input of the tool, without the agent where the capsule fixes that same agent. */
async function inputFor(registry: Registry, context: RequestContext, asked: CompletionRequest): Promise<object> {
  const { tool, input, model } = asked;
  const entry = registry.find(tool);
  const fixed = entry && context.principal.tools?.fixed?.(entry);
  const member = tool === 'invoke_agent' ? 'agent' : 'agentId';
  if (!fixed || !Object.hasOwn(fixed, member)) return input;
  const only = fixed[member];
  const { [member]: _, ...others } = input;
  if (only === model) return others;
  const found = await askForAgents(registry, context, { name: model, limit: 1 });
  const [agent] = found.ok ? (found.output as AgentPage).data : []; // as the tool declares it
  return agent && agent.id === only ? others : input;
}

type Refusal = Extract<Answer, { readonly ok: false }>;

/** Whether the answer means that this agent cannot be talked to, or not by this caller. Both are told alike. */
function isAboutModel(
  registry: Registry,
  { principal }: RequestContext,
  { tool, model }: CompletionRequest,
  { error }: Refusal,
): boolean {
  const { code, required, issues = [] } = error;
  if (code !== 'forbidden') return issues.some(({ path }) => path === 'agent' || path === 'agentId');
  // Who can invoke no agent at all is told so.
  const invokes = registry.list(principal).some((entry) => entry.tool.name === tool);
  return invokes && required?.grant === `agent:invoke:${model}`;
}

/** Only what is no more than the caller may know. */
function reasonOf({ error: { code, error } }: Refusal): string | undefined {
  return code === 'conflict' ? error.replace(/[.;]$/, '') : undefined;
}

interface Completion {
  readonly completed: Completed;
  readonly created: number;
}

function sendCompletion({ response }: RequestContext, asked: CompletionRequest, { completed, created }: Completion) {
  const { id, text, finishReason, usage, metadata } = completed;
  const message = { role: 'assistant', content: text, refusal: null };
  sendJson(response, 200, {
    id,
    object: 'chat.completion',
    created,
    model: asked.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }],
    usage,
    metadata,
  });
}
