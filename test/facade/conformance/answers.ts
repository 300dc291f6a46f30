import { CLIENT_CAPABILITIES_META_KEY, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import { isObject, RpcError } from '../../../facade/mcp/message.ts';
import { embedded, PICTURE } from './tools.ts';

type Members = Record<string, unknown>;

/** What the scenarios ask that no tool or record here can answer: prompts and resources of free form, and results that ask for more input. */
export function answerFixture(message: unknown): Result | undefined {
  if (!isObject(message)) return undefined;
  const params = isObject(message.params) ? message.params : {};
  const { name, uri } = params;
  switch (message.method) {
    case 'resources/read':
      return resources.get(String(uri))?.(String(uri));
    case 'prompts/get':
      return prompts.get(String(name))?.(isObject(params.arguments) ? params.arguments : {}, params);
    case 'tools/call':
      return asking.get(String(name))?.(params);
    case 'completion/complete':
      return isObject(params.ref) && params.ref.name === 'test_prompt_with_arguments'
        ? { completion: { values: ['test one', 'test two'], hasMore: false } }
        : undefined;
    default:
      return undefined;
  }
}

const resources = new Map<string, (uri: string) => Result>([
  ['test://static-text', (uri) => ({ contents: [{ uri, mimeType: 'text/plain', text: 'Words.' }] })],
  ['test://static-binary', (uri) => ({ contents: [{ uri, mimeType: 'image/png', blob: PICTURE }] })],
  [
    'test://template/123/data',
    (uri) => ({ contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id: uri.split('/')[3] }) }] }),
  ],
]);

const prompts = new Map<string, (given: Members, params: Members) => Result>([
  ['test_prompt_with_arguments', ({ arg1, arg2 }) => said({ type: 'text', text: `${arg1} and ${arg2}` })],
  ['test_prompt_with_embedded_resource', ({ resourceUri }) => said(embedded(String(resourceUri)))],
  ['test_prompt_with_image', () => said({ type: 'image', data: PICTURE, mimeType: 'image/png' })],
  [
    'test_input_required_result_prompt',
    (_, params) =>
      answered(params, 'user_context')
        ? said({ type: 'text', text: 'With context.' })
        : ask({ user_context: QUESTION }),
  ],
]);

function said(content: object): Result {
  return { messages: [{ role: 'user', content }] };
}

const QUESTION = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Which one?',
    requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
  },
};
const SAMPLING = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say a word.' } }], maxTokens: 10 },
};
const ROOTS = { method: 'roots/list', params: {} };

const DONE: Result = { content: [{ type: 'text', text: 'Done.' }] };

const asking = new Map<string, (params: Members) => Result>([
  ['test_missing_capability', requireSampling],
  ['test_input_required_result_elicitation', (params) => until(params, { user_name: QUESTION })],
  ['test_input_required_result_sampling', (params) => until(params, { capital_question: SAMPLING })],
  ['test_input_required_result_list_roots', (params) => until(params, { client_roots: ROOTS })],
  ['test_input_required_result_request_state', (params) => until(params, { confirm: QUESTION }, 'asked once')],
  ['test_input_required_result_tampered_state', (params) => until(params, { confirm: QUESTION }, 'asked once')],
  [
    'test_input_required_result_multiple_inputs',
    (params) => until(params, { user_name: QUESTION, greeting: SAMPLING, client_roots: ROOTS }, 'asked thrice'),
  ],
  [
    'test_input_required_result_multi_round',
    (params) =>
      params.requestState === 'second' ? DONE : ask({ step: QUESTION }, answered(params, 'step') ? 'second' : 'first'),
  ],
  [
    'test_input_required_result_capabilities',
    (params) => ask('elicitation' in capabilitiesOf(params) ? { asked: QUESTION } : { asked: SAMPLING }),
  ],
]);

function requireSampling(params: Members): Result {
  if ('sampling' in capabilitiesOf(params)) return DONE;
  throw new RpcError(-32021, 'The client has to declare sampling.', { requiredCapabilities: { sampling: {} } });
}

/** Asks until everything is answered under the state that was given out with the questions. */
function until(params: Members, questions: Record<string, object>, state?: string): Result {
  if (params.requestState !== undefined && params.requestState !== state) {
    throw new RpcError(INVALID_PARAMS, 'The state is not one that was given out.');
  }
  return Object.keys(questions).every((key) => answered(params, key)) ? DONE : ask(questions, state);
}

function ask(inputRequests: Record<string, object>, requestState?: string): Result {
  return { resultType: 'input_required', inputRequests, ...(requestState !== undefined && { requestState }) };
}

function answered({ inputResponses }: Members, key: string): boolean {
  return isObject(inputResponses) && isObject(inputResponses[key]);
}

function capabilitiesOf({ _meta }: Members): object {
  const capabilities = isObject(_meta) ? _meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  return isObject(capabilities) ? capabilities : {};
}
