import { isObject, parseJson } from '../../../resources/json.ts';
import type { Model } from '../../../resources/model.ts';
import type { LanguageModel, ModelAnswer, ModelCall, ModelMessage, StreamPart } from './language-model.ts';
import { bestPassages, type Source } from './passages.ts';
import { type Fenced, readFences, splitContext } from './prompt-sections.ts';
import { tokensOf } from './tokens.ts';

export const OFFLINE_MODEL: Model = {
  id: 'offline/rehearsal',
  provider: 'offline',
  name: 'rehearsal',
  description:
    'Built in, deterministic, without network and no language model: quotes memories, skills and documents, and runs a tool told as `/tool_name {json}`.',
  available: true,
  inputs: ['text'],
  capabilities: { tools: true, streaming: true, structuredOutput: true },
};

/** Ends every answer, so that nobody takes it for the answer of a language model. */
export const LABEL = '(offline/rehearsal: put together from stored text, without a language model)';

const MOST_QUOTES = 4;
const MOST_DOCUMENTS = 2;
const LONGEST_QUERY = 400;

/** The built-in, deterministic model, with which people can try agents, allowlists and flows before they have a provider. */
export const offlineModel: LanguageModel = {
  specificationVersion: 'v3',
  provider: OFFLINE_MODEL.provider,
  modelId: OFFLINE_MODEL.name,
  supportedUrls: {},
  doGenerate: async (call) => answer(call),
  async doStream(call) {
    const { content, finishReason, usage } = answer(call);
    return { stream: streamOf([...partsOf(content), { type: 'finish', finishReason, usage }], call.abortSignal) };
  },
};

type Content = ModelAnswer['content'];

/** The current turn of the conversation: what was said, and the tool results since then. */
interface Turn {
  readonly message: string;
  readonly given: readonly Fenced[];
  readonly tools: ReadonlySet<string>;
  readonly results: readonly { readonly tool: string; readonly text: string }[];
  /** The number of calls in the whole conversation. New calls are numbered from it. */
  readonly calls: number;
}

function answer(call: ModelCall): ModelAnswer {
  const turn = turnOf(call);
  const content = reply(turn);
  const calls = content.some(({ type }) => type === 'tool-call');
  const [inputTokens, outputTokens] = [tokensOf(JSON.stringify(call.prompt)), tokensOf(JSON.stringify(content))];
  return {
    content,
    finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: undefined },
    },
    warnings: [],
  };
}

function turnOf({ prompt, tools = [] }: ModelCall): Turn {
  const start = prompt.findLastIndex(({ role }) => role === 'user');
  const said = prompt[start];
  // The text stands behind those of files.
  const texts = said ? textsIn(said) : [];
  const { text, context } = splitContext(texts.at(-1) ?? '');
  const system = prompt.filter(({ role }) => role === 'system').map(textIn);
  return {
    message: text.trim(),
    given: [...system, ...texts.slice(0, -1), context].flatMap(readFences),
    tools: new Set(tools.map(({ name }) => name)),
    results: prompt.slice(start + 1).flatMap(resultsIn),
    calls: prompt.flatMap((message) => (message.role === 'tool' ? message.content : [])).length,
  };
}

function textIn(message: ModelMessage): string {
  return textsIn(message).join('\n');
}

function textsIn({ content }: ModelMessage): string[] {
  if (typeof content === 'string') return [content];
  return content.map((part) => (part.type === 'text' ? part.text : ''));
}

function resultsIn(message: ModelMessage): Turn['results'] {
  if (message.role !== 'tool') return [];
  return message.content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const text = 'value' in part.output ? part.output.value : '';
    const told = typeof text === 'string' ? text : JSON.stringify(text);
    return [{ tool: part.toolName, text: readFences(told)[0]?.text ?? told }];
  });
}

function reply(turn: Turn): Content {
  const command = /^\/([A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(turn.message);
  if (command) return run(turn, command[1] ?? '', command[2] ?? '{}');
  const told = turn.given.filter(({ kind }) => kind === 'message');
  if (told.length > 0) return finish(turn, summaryOf(told));
  const search = turn.results.find(({ tool }) => tool === 'search');
  if (!search && turn.tools.has('search') && turn.message !== '') {
    const types = ['document'];
    return [toolCall(turn, 0, 'search', { q: turn.message.slice(0, LONGEST_QUERY).trim(), types, limit: 5 })];
  }
  const found = hitsIn(search?.text);
  const read = turn.results.filter(({ tool }) => tool === 'get_document');
  if (found.length > 0 && read.length === 0 && turn.tools.has('get_document')) {
    return found.slice(0, MOST_DOCUMENTS).map(({ id }, index) => toolCall(turn, index, 'get_document', { id }));
  }
  return finish(turn, quote(turn, [...found, ...read.flatMap(({ text }) => documentIn(text))]));
}

function run(turn: Turn, name: string, json: string): Content {
  const done = turn.results.find(({ tool }) => tool === name);
  if (done) return finish(turn, `\`${name}\` answered:\n\n${fenced(done.text)}`);
  if (!turn.tools.has(name)) {
    const names = [...turn.tools];
    const mine = names.length > 0 ? `I have: ${names.slice(0, 50).join(', ')}.` : 'I have none.';
    return finish(turn, `\`${name}\` is not a tool that I may use here. ${mine}`);
  }
  const input = parseJson(json);
  if (!isObject(input)) {
    return finish(turn, `The text after /${name} is not a JSON object. Write for example: /${name} {}`);
  }
  return [toolCall(turn, 0, name, input)];
}

/** JSON as a code block, since it is no prose. */
function fenced(text: string): string {
  return typeof parseJson(text) === 'object' ? `\`\`\`json\n${text}\n\`\`\`` : text;
}

const MOST_LINES = 40;
const LONGEST_LINE = 160;

/** Of messages, by their beginnings. */
function summaryOf(told: readonly Fenced[]): string {
  const lines = told.slice(-MOST_LINES).map(({ title, text }) => {
    const line = text.replace(/\s+/g, ' ');
    return `- ${title}: ${line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}…` : line}`.toWellFormed();
  });
  const more = told.length > MOST_LINES ? `, the last ${MOST_LINES}` : '';
  return `${told.length} earlier messages by their beginnings${more}:\n\n${lines.join('\n')}`;
}

const QUOTED: readonly string[] = ['memory', 'skill', 'passage', 'file'];

function quote({ message, given }: Turn, documents: readonly Source[]): string {
  const sources = [...given.filter(({ kind }) => QUOTED.includes(kind)), ...documents];
  const passages = bestPassages(message, distinct(sources), MOST_QUOTES);
  if (passages.length === 0) {
    return 'I found nothing about this in the memories, skills and documents that I was given. `/tool_name {json}` runs one of my tools.';
  }
  const lines = passages.map(({ source: { id, title, kind }, text }) => {
    // A passage of a document is cited by its number.
    const named = kind === 'passage' || !title ? id : `${title}, ${id}`;
    return `- ${text} [${named}]`;
  });
  return `This is what I found:\n\n${lines.join('\n')}`;
}

/** Where a document was read, it replaces the part of it that the search showed. */
function distinct(sources: readonly Source[]): Source[] {
  return [...new Map(sources.map((source) => [source.id, source])).values()];
}

function hitsIn(text: string | undefined): Source[] {
  const found = text === undefined ? undefined : (parseJson(text) as { data?: unknown } | undefined); // each member is checked before use
  const hits = Array.isArray(found?.data) ? found.data : [];
  return hits.flatMap(({ id, title, snippet }) =>
    typeof id === 'string' ? [{ id, title, text: String(snippet) }] : [],
  );
}

function documentIn(text: string): Source[] {
  const found = parseJson(text) as { id?: unknown; title?: unknown; content?: unknown } | undefined; // each member is checked before use
  if (typeof found?.id !== 'string' || typeof found.content !== 'string') return [];
  return [{ id: found.id, title: String(found.title), text: found.content }];
}

/** The text itself or, where an answer of a given form is wanted, placeholders of that form that contain the text. */
function finish({ given }: Turn, text: string): Content {
  const schema = given.find(({ kind }) => kind === 'schema');
  if (!schema) return [{ type: 'text', text: `${text}\n\n${LABEL}` }];
  return [{ type: 'text', text: JSON.stringify(placeholderFor(parseJson(schema.text), text)) }];
}

function toolCall({ calls }: Turn, index: number, toolName: string, input: object): Content[number] {
  return { type: 'tool-call', toolCallId: `call_${calls + index + 1}`, toolName, input: JSON.stringify(input) };
}

function partsOf(content: Content): StreamPart[] {
  const parts = content.flatMap((part, index): StreamPart[] => {
    if (part.type !== 'text') return part.type === 'tool-call' ? [part] : [];
    const id = String(index);
    const words = part.text.match(/\s*\S+\s*/g) ?? [];
    const deltas = words.map((delta): StreamPart => ({ type: 'text-delta', id, delta }));
    return [{ type: 'text-start', id }, ...deltas, { type: 'text-end', id }];
  });
  return [{ type: 'stream-start', warnings: [] }, ...parts];
}

function streamOf(parts: readonly StreamPart[], signal: AbortSignal | undefined): ReadableStream<StreamPart> {
  const left = [...parts];
  return new ReadableStream({
    pull(controller) {
      signal?.throwIfAborted();
      const next = left.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
}

/** A value that fits a JSON Schema, with `text` in place of every string. It shows what an answer in that form could look like. */
function placeholderFor(schema: unknown, text: string): unknown {
  if (typeof schema !== 'object' || schema === null) return text;
  const { enum: choices, const: only, type, properties, items, minItems, minimum, maxLength, anyOf } = schema as Schema;
  if (only !== undefined) return only;
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return placeholderFor(anyOf[0], text);
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(properties ?? {}).map(([name, member]) => [name, placeholderFor(member, text)]),
      );
    case 'array':
      return Array.from({ length: Number(minItems ?? 1) }, () => placeholderFor(items, text));
    case 'number':
    case 'integer':
      return Number(minimum ?? 0);
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return text.slice(0, Number(maxLength ?? text.length));
  }
}

/** The keywords that are used. The caller checks the answer against the whole schema. */
type Schema = Readonly<Record<string, unknown>> & { readonly properties?: Readonly<Record<string, unknown>> };
