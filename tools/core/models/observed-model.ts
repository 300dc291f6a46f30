import { activeSpan, failureOf, runInSpan, type Span } from '../telemetry/span.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { LanguageModel, ModelAnswer, ModelCall, ModelMessage, StreamPart } from './language-model.ts';

const OPERATION = 'chat';

/** The model, with its answers measured and, where there is a span around the question, traced. */
export function observedModel(model: LanguageModel, telemetry: Telemetry): LanguageModel {
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  const asked = <Result>(call: ModelCall, ask: (question: Question) => Promise<Result>): Promise<Result> => {
    const question = new Question(model, call, telemetry);
    return question.inside(() => ask(question)).catch((error) => question.failed(error));
  };
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: (call) =>
      asked(call, async (question) => {
        const answer = await model.doGenerate(call);
        const text = answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
        question.answered(answer, text);
        question.end();
        return answer;
      }),
    doStream: (call) =>
      asked(call, async (question) => {
        const answer = await model.doStream(call);
        return { ...answer, stream: watched(answer.stream, question) };
      }),
  };
}

class Question {
  readonly #telemetry: Telemetry;
  readonly #provider: string;
  readonly #span: Span | undefined;
  readonly #started = performance.now();
  #hasBegun = false;
  #isOver = false;

  constructor({ provider, modelId }: LanguageModel, call: ModelCall, telemetry: Telemetry) {
    this.#telemetry = telemetry;
    this.#provider = provider;
    this.#span = activeSpan()?.child({
      name: `${OPERATION} ${modelId}`,
      kind: 'client',
      attributes: {
        'gen_ai.operation.name': OPERATION,
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': modelId,
        'gen_ai.request.max_tokens': call.maxOutputTokens,
        'gen_ai.system_instructions': telemetry.showsContent ? instructionsIn(call.prompt) : undefined,
        'gen_ai.input.messages': telemetry.showsContent ? givenMessages(call.prompt) : undefined,
      },
    });
  }

  inside<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#span ? runInSpan(this.#span, work) : work();
  }

  /** A piece of the answer came. */
  began(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const seconds = this.#seconds;
    this.#telemetry.measures.firstChunkSeconds.record(seconds, OPERATION, this.#provider);
    this.#span?.set({ 'gen_ai.request.stream': true, 'gen_ai.response.time_to_first_chunk': seconds });
  }

  answered({ usage, finishReason }: Pick<ModelAnswer, 'usage' | 'finishReason'>, text: string): void {
    const [input, output] = [usage.inputTokens.total, usage.outputTokens.total];
    const { modelTokens } = this.#telemetry.measures;
    if (input !== undefined) modelTokens.record(input, OPERATION, this.#provider, 'input');
    if (output !== undefined) modelTokens.record(output, OPERATION, this.#provider, 'output');
    this.#span?.set({
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.output_tokens': output,
      'gen_ai.usage.cache_read.input_tokens': usage.inputTokens.cacheRead,
      'gen_ai.usage.cache_creation.input_tokens': usage.inputTokens.cacheWrite,
      'gen_ai.usage.reasoning.output_tokens': usage.outputTokens.reasoning,
      'gen_ai.response.finish_reasons': [finishReason.unified],
      'gen_ai.output.messages': this.#telemetry.showsContent ? answeredMessages(text, finishReason.unified) : undefined,
    });
  }

  named({ id, modelId }: { readonly id?: string | undefined; readonly modelId?: string | undefined }): void {
    this.#span?.set({ 'gen_ai.response.id': id, 'gen_ai.response.model': modelId });
  }

  failed(error: unknown): never {
    this.end(failureOf(error));
    throw error;
  }

  end(failure?: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#telemetry.measures.modelSeconds.record(this.#seconds, OPERATION, this.#provider, failure ?? '');
    this.#span?.end(failure);
  }

  get #seconds(): number {
    return (performance.now() - this.#started) / 1000;
  }
}

/** The same stream. The question ends with it, also where nobody reads on. */
function watched(stream: ReadableStream<StreamPart>, question: Question): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  let text = '';
  const see = (part: StreamPart) => {
    if (part.type === 'response-metadata') question.named(part);
    else if (part.type === 'error') question.end(failureOf(part.error));
    else if (part.type === 'finish') question.answered(part, text);
    else if (part.type !== 'stream-start') question.began();
    if (part.type === 'text-delta') text += part.delta;
  };
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error) => question.failed(error));
        if (!done) {
          see(value);
          return controller.enqueue(value);
        }
        question.end();
        controller.close();
      },
      cancel(reason) {
        question.end('cancelled');
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The longest text of one attribute, in characters. */
const LONGEST = 64 * 1024;

/** What is said to a model, in the form that the conventions of OpenTelemetry give to `gen_ai.input.messages`. */
function givenMessages(prompt: readonly ModelMessage[]): string {
  return shown(
    prompt.flatMap((message) =>
      message.role === 'system' ? [] : [{ role: message.role, parts: message.content.map(partOf) }],
    ),
  );
}

/** The same for `gen_ai.system_instructions`. */
function instructionsIn(prompt: readonly ModelMessage[]): string {
  return shown(
    prompt.flatMap((message) => (message.role === 'system' ? [{ type: 'text', content: message.content }] : [])),
  );
}

/** The same for `gen_ai.output.messages`. */
function answeredMessages(text: string, finish: string): string {
  return shown([{ role: 'assistant', parts: [{ type: 'text', content: text }], finish_reason: finish }]);
}

type Part = Exclude<ModelMessage['content'], string>[number];

function partOf(part: Part): object {
  if (part.type === 'text' || part.type === 'reasoning') return { type: part.type, content: part.text };
  if (part.type === 'tool-call') {
    return { type: 'tool_call', id: part.toolCallId, name: part.toolName, arguments: part.input };
  }
  if (part.type === 'tool-result') return { type: 'tool_call_response', id: part.toolCallId, result: part.output };
  return { type: part.type };
}

function shown(value: unknown): string {
  return JSON.stringify(value).slice(0, LONGEST);
}
