import type { LanguageModel as AnyLanguageModel } from 'ai';

/** A language model as the loop takes it. Never its id alone: given a text, the library asks a gateway of its vendor. */
export type LanguageModel = Extract<AnyLanguageModel, { specificationVersion: 'v3' }>;

export type ModelCall = Parameters<LanguageModel['doStream']>[0];
export type ModelMessage = ModelCall['prompt'][number];
export type ModelAnswer = Awaited<ReturnType<LanguageModel['doGenerate']>>;
export type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
