import { ToolError } from '../errors.ts';
import { loadPackage } from '../load-package.ts';
import { type Circuit, type Permit, ProviderSilent } from './circuit.ts';
import type { LibraryEmbeddingModel } from './embedding-model.ts';
import type { LanguageModel, StreamPart } from './language-model.ts';

/** The model, which is asked only while its provider can be expected to answer. */
export function withCircuit(model: LanguageModel, circuit: Circuit): LanguageModel {
  const { specificationVersion, provider, modelId, supportedUrls } = model;
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: (call) =>
      asked(circuit, call, async (permit) => {
        const answer = await model.doGenerate(call);
        await permit.succeeded();
        return answer;
      }),
    doStream: (call) =>
      asked(circuit, call, async (permit) => {
        const answer = await model.doStream(call);
        permit.answered();
        return { ...answer, stream: judged(answer.stream, call, permit) };
      }),
  };
}

/** The same for a model that embeds. */
export function withEmbeddingCircuit(model: LibraryEmbeddingModel, circuit: Circuit): LibraryEmbeddingModel {
  const { specificationVersion, provider, modelId, maxEmbeddingsPerCall, supportsParallelCalls } = model;
  return {
    ...{ specificationVersion, provider, modelId, maxEmbeddingsPerCall, supportsParallelCalls },
    doEmbed: (call) =>
      asked(circuit, call, async (permit) => {
        const answer = await model.doEmbed(call);
        await permit.succeeded();
        return answer;
      }),
  };
}

interface Call {
  readonly abortSignal?: AbortSignal | undefined;
}

async function asked<Result>(circuit: Circuit, call: Call, ask: (permit: Permit) => Promise<Result>): Promise<Result> {
  const permit = await circuit.admit();
  try {
    return await ask(permit);
  } catch (error) {
    await judge(permit, call, error);
    throw error;
  }
}

async function judge(permit: Permit, { abortSignal }: Call, error: unknown): Promise<void> {
  if (abortSignal?.reason instanceof ProviderSilent) return permit.failed();
  // An error of this server, such as a package that is not there, says nothing of the provider.
  if (abortSignal?.aborted || error instanceof ToolError) return permit.abandoned();
  return (await isOfProvider(error)) ? permit.failed() : permit.succeeded();
}

/** Refusals of a request, and of too many, come from a provider that works. */
async function isOfProvider(error: unknown): Promise<boolean> {
  const { APICallError } = await loadPackage('ai', () => import('ai'));
  if (!APICallError.isInstance(error) || error.statusCode === undefined) return true;
  return error.statusCode === 408 || error.statusCode >= 500 || error.statusCode < 400;
}

/** The same stream. What came of it is known when it ends. */
function judged(stream: ReadableStream<StreamPart>, call: Call, permit: Permit): ReadableStream<StreamPart> {
  const reader = stream.getReader();
  let isWhole = false;
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            await (isWhole ? permit.succeeded() : judge(permit, call, undefined));
            return controller.close();
          }
          if (value.type === 'error') await judge(permit, call, value.error);
          if (value.type === 'finish') isWhole = !isCut(value);
          controller.enqueue(value);
        } catch (error) {
          await judge(permit, call, error);
          controller.error(error);
        }
      },
      async cancel(reason) {
        await permit.abandoned();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A stream that ends without a reason that the provider gave. */
function isCut({ finishReason: { unified, raw } }: Extract<StreamPart, { type: 'finish' }>): boolean {
  return unified === 'error' || (unified === 'other' && raw === undefined);
}
