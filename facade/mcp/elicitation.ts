import { CLIENT_CAPABILITIES_META_KEY, type Result } from '@modelcontextprotocol/server';
import type { Answer, Questions } from '../../tools/core/registry/call.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject } from './message.ts';
import { isModern } from './protocol-versions.ts';
import { toolResult } from './response-writer.ts';

/** The kinds of questions that the client can ask its person. Only clients of 2026-07-28 say so in each request. */
export function questionsIn(context: RequestContext): Questions | undefined {
  const { message } = context;
  if (!isModern(context) || !isObject(message) || !isObject(message.params)) return undefined;
  const { _meta: meta, inputResponses, requestState } = message.params;
  const capabilities = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  if (!isObject(elicitation)) return undefined;
  const modes = (['form', 'url'] as const).filter((mode) => isObject(elicitation[mode]));
  return {
    modes: Object.keys(elicitation).length === 0 ? ['form'] : modes,
    ...(isObject(inputResponses) && { answers: inputResponses }),
    ...(typeof requestState === 'string' && { state: requestState }),
  };
}

/** The result of a call: what came of it, or the questions that the client asks its person before it makes the call again. */
export function resultOrQuestions(answer: Answer, questions: Questions | undefined): Result {
  if (answer.ok || !answer.wants || !questions) return toolResult(answer);
  const { requests, state } = answer.wants;
  const canAsk = Object.values(requests).every(({ params }) => questions.modes.includes(modeOf(params)));
  if (!canAsk) return toolResult(answer);
  return {
    resultType: 'input_required',
    inputRequests: requests,
    ...(state !== undefined && { requestState: state }),
  };
}

function modeOf(params: object): 'form' | 'url' {
  return 'mode' in params && params.mode === 'url' ? 'url' : 'form';
}
