import { z } from 'zod';
import type { StorageLimits } from '../../tools/usage/storage-meter.ts';

const MIB = 1024 * 1024;
/** Everything is in memory in the embedded store. */
const EMBEDDED_MB = 1024;
const DATABASE_MB = 10_240;

const megabytes = z.coerce
  .number({ error: 'must be a number of MB, at least 0' })
  .min(0)
  .max(1024 * 1024);

export const storageEnvironment = {
  STORAGE_LIMIT_MB: megabytes
    .optional()
    .describe(
      `The most that all states of records may take, in MB of 1,048,576 bytes; 0 sets no limit. Default: ${EMBEDDED_MB} in the embedded store, ${DATABASE_MB} in a database.`,
    ),
  STORAGE_LIMIT_PER_CALLER_MB: megabytes
    .default(256)
    .describe('The same for what each key, capsule, app or person has written; 0 sets no limit.'),
};

const variables = z.object({ ...storageEnvironment, DATABASE_URL: z.string().optional() });

export function storageLimits({
  DATABASE_URL: database,
  STORAGE_LIMIT_MB: workspace = database === undefined ? EMBEDDED_MB : DATABASE_MB,
  STORAGE_LIMIT_PER_CALLER_MB: caller,
}: z.output<typeof variables>): StorageLimits {
  return { workspace: Math.floor(workspace * MIB), caller: Math.floor(caller * MIB) };
}
