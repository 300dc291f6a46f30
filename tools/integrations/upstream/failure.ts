import { isInputRequiredResult, ProtocolError, SdkError, SdkErrorCode } from '@modelcontextprotocol/client';
import type { ErrorCode } from '../../../resources/error.ts';
import { type InputRequired, ToolError } from '../../core/errors.ts';
import { FAULT_CODES } from '../../core/outbound/limits.ts';
import { cleanText, type Scrubber } from '../../core/outbound/untrusted-text.ts';
import type { Questions } from '../../core/registry/call.ts';
import { isSchemaObject } from './schema.ts';
import { MOST_BYTES } from './transport.ts';

const LONGEST_QUOTE = 2000;
const INVALID_PARAMS = -32_602;

interface Failure {
  readonly code: Extract<ErrorCode, 'invalid_input' | 'conflict' | 'too_large' | 'unavailable'>;
  readonly message: string;
  readonly doubt?: true;
}

export function failureOf(error: unknown, prefix: string, scrubber: Scrubber): Failure {
  if (error instanceof ProtocolError && error.code !== FAULT_CODES.broken) return refusalOf(error, prefix, scrubber);
  const code = error instanceof SdkError ? error.code : undefined;
  if (code === SdkErrorCode.UnsupportedResultType) return { code: 'conflict', message: cannotAsk(prefix).message };
  if (code === SdkErrorCode.InvalidResult) {
    const message = `The integration ${prefix} answered with something other than a tool result.`;
    return { code: 'unavailable', message };
  }
  const what =
    code === SdkErrorCode.RequestTimeout
      ? `The integration ${prefix} did not answer in time, and may have done the work all the same`
      : `The connection to the integration ${prefix} broke during the call, which may have been carried out`;
  return { code: 'unavailable', doubt: true, message: `${what}; look before you try again.` };
}

function refusalOf({ code, message }: ProtocolError, prefix: string, scrubber: Scrubber): Failure {
  if (code === FAULT_CODES.too_large) {
    return {
      code: 'too_large',
      message: `The answer of ${prefix} is larger than ${MOST_BYTES} bytes or nests too deep; ask for less at a time.`,
    };
  }
  return {
    code: code === INVALID_PARAMS ? 'invalid_input' : 'conflict',
    message: `The integration ${prefix} answered with an error: ${quote(message, scrubber)}`,
  };
}

export function toolError(content: readonly unknown[], prefix: string, scrubber: Scrubber): string {
  const texts = content.map((block) => (block as { text?: unknown }).text).filter((text) => typeof text === 'string'); // content blocks are objects
  return `The tool of ${prefix} answered with an error: ${quote(texts.join('\n') || 'without a text', scrubber)}`;
}

/** Words of the other server, marked as a quotation. */
function quote(text: string, scrubber: Scrubber): string {
  return JSON.stringify(cleanText(scrubber.text(text), LONGEST_QUOTE));
}

export function errorText(error: unknown, scrubber: Scrubber): string {
  const message = error instanceof Error ? error.message : String(error);
  return scrubber.shown(message, 600) || 'It failed without saying why.';
}

const LONGEST_MESSAGE = 1000;
const MOST_QUESTIONS = 10;
const URL_ELICITATION_REQUIRED = -32_042;

export interface Asking {
  readonly label: string;
  readonly scrubber: Scrubber;
  readonly questions: Questions | undefined;
}

/** The error by which the questions of a tool reach the caller, or that says why they cannot. Undefined if the tool asks nothing. */
export function questionsIn(result: unknown, { label, scrubber, questions }: Asking): ToolError | undefined {
  if (!isInputRequiredResult(result)) return undefined;
  const asked = Object.entries(result.inputRequests ?? {}).slice(0, MOST_QUESTIONS);
  const requests = asked.flatMap(([name, request]) => {
    const question = questionOf(request, label, scrubber);
    return question && questions?.modes.includes(question.mode) ? [[name, question.request] as const] : [];
  });
  // A server may also ask only to be asked again with its state.
  if (!questions || requests.length < asked.length) return cannotAsk(label);
  const { requestState: state } = result;
  const wants: InputRequired = { requests: Object.fromEntries(requests), ...(typeof state === 'string' && { state }) };
  return new ToolError('conflict', `The tool of ${label} asks a person for input before it goes on.`, { wants });
}

/** The same for an error by which servers of 2025-11-25 ask a person to open pages. Undefined for all other errors. */
export function pagesIn(error: unknown, asking: Asking): ToolError | undefined {
  if (!(error instanceof ProtocolError) || error.code !== URL_ELICITATION_REQUIRED) return undefined;
  const pages: unknown = isSchemaObject(error.data) ? error.data.elicitations : undefined;
  const urls = (Array.isArray(pages) ? pages : []).filter((page) => isSchemaObject(page) && isPage(page.url));
  if (urls.length === 0) return undefined;
  const inputRequests = Object.fromEntries(
    urls.map((page, index) => [`page${index + 1}`, { method: 'elicitation/create', params: { ...page, mode: 'url' } }]),
  );
  if (asking.questions?.modes.includes('url'))
    return questionsIn({ resultType: 'input_required', inputRequests }, asking);
  const { scrubber, label } = asking;
  const shown = urls
    .slice(0, MOST_QUESTIONS)
    .map(({ url }) => JSON.stringify(cleanText(scrubber.text(url), LONGEST_MESSAGE)));
  const message = `The tool of ${label} wants a person to open ${shown.join(' and ')} first; look whether you trust that, then make the call again.`;
  return new ToolError('conflict', message);
}

function cannotAsk(label: string): ToolError {
  const message = `The tool of ${label} asks a person for input, which cannot be passed on here; an MCP client of revision 2026-07-28 that can ask its person (elicitation) can call it.`;
  return new ToolError('conflict', message);
}

/** The question as it is passed on: it says who asks. Undefined for requests that are not questions, such as sampling. */
function questionOf(request: unknown, label: string, scrubber: Scrubber) {
  if (!isSchemaObject(request) || request.method !== 'elicitation/create' || !isSchemaObject(request.params))
    return undefined;
  const params = scrubber.json(request.params) as Record<string, unknown>; // scrubbing keeps the shape
  const mode = params.mode === 'url' ? ('url' as const) : ('form' as const);
  if (mode === 'url' && !isPage(params.url)) return undefined;
  const words = cleanText(typeof params.message === 'string' ? params.message : '', LONGEST_MESSAGE);
  return { mode, request: { method: 'elicitation/create', params: { ...params, message: `${label} asks: ${words}` } } };
}

function isPage(url: unknown): boolean {
  return typeof url === 'string' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}
