import type { LanguageModel as AnyLanguageModel } from 'ai';

/** A language model as an object. An id as text is never used, because the library would send it to its vendor's gateway. */
export type LanguageModel = Extract<AnyLanguageModel, { specificationVersion: 'v3' }>;

export type ModelCall = Parameters<LanguageModel['doStream']>[0];
export type ModelMessage = ModelCall['prompt'][number];
export type ModelAnswer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
