import { z } from 'zod';
import { isNear } from './fields.ts';
import { currency } from './locale.ts';
import { A_MODEL, withFormHints } from './markers.ts';

const perMillion = z.number().min(0).max(1e6);

/** The price of a model from a day on. A price of 0 means that it costs nothing. */
const priceFields = {
  from: z.iso
    .date({ abort: true, error: 'Write a date like 2026-03-01.' })
    .refine(isNear, 'Give a date from 1900-01-01 to 2199-12-31.')
    .describe('First date (UTC) that it counts for, like 2026-03-01.'),
  currency,
  input: perMillion.describe('Units of `currency` for a million input tokens.'),
  output: perMillion.describe('Units of `currency` for a million output tokens.'),
  cacheRead: perMillion.optional().describe('For input tokens from a cache. Default: as `input`.'),
  cacheWrite: perMillion.optional().describe('For those written to it. Default: as `input`.'),
  reasoning: perMillion.optional().describe('For reasoning. Default: as `output`.'),
};

export const modelPrice = z.strictObject({
  model: withFormHints(z.string().trim().min(1).max(300), A_MODEL).describe('Id of a model, see list_models.'),
  ...priceFields,
});
export type ModelPrice = z.infer<typeof modelPrice>;
