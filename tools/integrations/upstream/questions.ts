import { isInputRequiredResult } from '@modelcontextprotocol/client';
import type { Questions } from '../../registry/call.ts';
import { type InputWanted, ToolError } from '../../registry/errors.ts';
import { isSchemaObject } from './schema-references.ts';
import { cleanText, type Scrubber } from './text.ts';

const LONGEST_MESSAGE = 1000;
const MOST_QUESTIONS = 10;

/** The error by which the questions of a tool reach the caller, or that says why they cannot. Undefined where the tool asks nothing. */
export function questionsIn(
  result: unknown,
  {
    label,
    scrubber,
    questions,
  }: { readonly label: string; readonly scrubber: Scrubber; readonly questions: Questions | undefined },
): ToolError | undefined {
  if (!isInputRequiredResult(result)) return undefined;
  const asked = Object.entries(result.inputRequests ?? {}).slice(0, MOST_QUESTIONS);
  const requests = asked.flatMap(([name, request]) => {
    const question = questionOf(request, label, scrubber);
    return question && questions?.modes.includes(question.mode) ? [[name, question.request] as const] : [];
  });
  // A server may also ask only to be asked again with its state.
  if (!questions || requests.length < asked.length) return cannotAsk(label);
  const { requestState: state } = result;
  const wants: InputWanted = { requests: Object.fromEntries(requests), ...(typeof state === 'string' && { state }) };
  return new ToolError('conflict', `The tool of ${label} asks a person for input before it goes on.`, { wants });
}

/** The error for a tool that asks where nobody can be asked. */
export function cannotAsk(label: string): ToolError {
  const message = `The tool of ${label} asks a person for input, which cannot be passed on here; an MCP client of revision 2026-07-28 that can ask its person (elicitation) can call it.`;
  return new ToolError('conflict', message);
}

/** A question in the form that it is passed on in: it says who asks. Undefined for requests that are no questions, such as sampling. */
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
