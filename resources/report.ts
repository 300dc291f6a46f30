import { z } from 'zod';
import { bookkeeping, nameText, recordId, timestamp } from './fields.ts';
import { storedCallOf } from './markers.ts';

export const reportFields = {
  title: nameText(200),
  description: z.string().max(2000),
  visualization: z.enum(['table', 'line', 'bar', 'number']),
};

const queryTool = z.string().min(1).max(200).describe('Name of a read-only tool.');
const queryArguments = z.record(z.string(), z.unknown());
export const MOST_CHARACTERS = 20_000;

export const reportQueryInput = storedCallOf(
  'tool',
  z.strictObject({
    tool: queryTool,
    arguments: queryArguments
      .refine(
        (given) => JSON.stringify(given).length <= MOST_CHARACTERS,
        `Holds more than ${MOST_CHARACTERS} characters of JSON; ask for less at a time.`,
      )
      .default({})
      .describe('Checked by the input schema of the tool.'),
  }),
);

/** A saved question to the workspace: a tool that reads, its arguments, and how to show its answer. */
export const report = z.object({
  id: recordId,
  /** The title. Older reports may contain invisible characters. */
  title: z.string(),
  description: reportFields.description.optional(),
  query: z.object({ tool: queryTool, arguments: queryArguments }),
  visualization: reportFields.visualization,
  ...bookkeeping,
});
export type Report = z.infer<typeof report>;

export const renderedReport = report.extend({
  result: z.record(z.string(), z.unknown()).optional().describe('Output of the tool; only with `render`.'),
  asOf: timestamp.optional().describe('When the result was made.'),
});
