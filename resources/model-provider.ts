import { z } from 'zod';
import { bookkeeping, isNear, namesUser, plainLine, recordId, timestamp } from './fields.ts';
import { integrationFields, SECRET_MASK } from './integration.ts';
import { currency } from './locale.ts';
import { address, secret } from './markers.ts';

const modelProviderKind = z.enum(['openai', 'anthropic', 'openai-compatible', 'google', 'azure', 'bedrock']);
export type ModelProviderKind = z.infer<typeof modelProviderKind>;

/** Longest name of a model: ids hold the name of its provider too. */
const LONGEST_MODEL_NAME = 150;
const MOST_PROVIDER_MODELS = 200;
const MOST_PRICES = 500;
const NO_NEAR_DATE = 'Give a date from 1900-01-01 to 2199-12-31.';

const modelName = plainLine(z.string().trim().min(1).max(LONGEST_MODEL_NAME));
const tokens = z.int().min(1).max(100_000_000);

export const modelInput = z.enum(['text', 'image', 'pdf']);
export type ModelInput = z.infer<typeof modelInput>;

const providerModel = z.strictObject({
  name: modelName,
  contextTokens: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  inputs: z.array(modelInput).max(3).optional().describe('What it reads. Default: as known of it.'),
});

const perMillion = z.number().min(0).max(1e6);

/** A price as those of the settings, whose descriptions it has. */
const providerPrice = z.strictObject({
  model: modelName,
  from: z.iso.date({ abort: true, error: 'Write a date like 2026-03-01.' }).refine(isNear, NO_NEAR_DATE),
  currency,
  input: perMillion,
  output: perMillion,
  cacheRead: perMillion.optional(),
  cacheWrite: perMillion.optional(),
  reasoning: perMillion.optional(),
});

export const modelProviderFields = {
  name: z
    .string()
    .max(40)
    .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, 'Write lower-case letters and digits, with single - between.'),
  kind: modelProviderKind,
  baseUrl: address(
    z
      .url({ protocol: /^https?$/, error: 'Write an http or https URL.' })
      .max(2000, 'Is too long; write at most 2000 characters.')
      .refine((url) => !namesUser(url), 'May hold no user and password; give apiKey.'),
  ),
  apiKey: secret(
    z
      .string()
      .min(1)
      .max(8000)
      .regex(/^(?:[\x21-\x7e]+|•••)$/, 'May hold nothing but printable ASCII characters; leave out spaces.')
      .describe(`Secret; ${SECRET_MASK} keeps the stored one.`),
  ),
  headers: secret(integrationFields.headers.describe(`Secrets, as apiKey.`)),
  models: z.array(providerModel).max(MOST_PROVIDER_MODELS),
  prices: z.array(providerPrice).max(MOST_PRICES),
  enabled: z.boolean(),
};

/** The stored record. The key and the values of `headers` are encrypted. */
export const modelProviderRecord = z.object({
  id: recordId,
  name: modelProviderFields.name,
  kind: modelProviderKind,
  baseUrl: modelProviderFields.baseUrl.optional(),
  apiKey: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  models: modelProviderFields.models.optional(),
  prices: modelProviderFields.prices.optional(),
  enabled: z.boolean(),
  createdBy: recordId,
  ...bookkeeping,
});
export type ModelProviderRecord = z.infer<typeof modelProviderRecord>;

const mask = z.literal(SECRET_MASK);

/** A provider of models as answers show it. One of the environment has no bookkeeping and cannot be changed here. */
export const modelProvider = modelProviderRecord
  .omit({ createdBy: true, createdAt: true, updatedAt: true, revision: true })
  .extend({
    apiKey: mask.optional(),
    headers: z.record(z.string(), mask).optional(),
    source: z.enum(['record', 'environment']),
    status: z.enum(['ok', 'down', 'unknown', 'disabled']),
    problem: z.string().optional(),
    latencyMs: z.number().min(0).optional(),
    createdBy: recordId.optional(),
    createdAt: timestamp.optional(),
    updatedAt: timestamp.optional(),
    revision: bookkeeping.revision.optional(),
  });
export type ModelProviderView = z.infer<typeof modelProvider>;

export const modelProviderTest = z.object({
  ok: z.boolean(),
  latencyMs: z.number().min(0).describe('Of the answer, or until the problem showed.'),
  model: z.string().optional().describe('Id of the model that was asked.'),
  problem: z.string().optional(),
  nextStep: z.string().optional(),
});
export type ModelProviderTest = z.infer<typeof modelProviderTest>;
