import { OperatorError } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { auditSecretOf } from '../launch/open-store.ts';
import { readArguments, runCommand } from './run-command.ts';

const USAGE = `Usage: ${howToRun('backup')} <folder>

The folder must be empty or absent. Start a server on it with DATA_DIR=<folder>.`;

async function main(): Promise<void> {
  const [target = ''] = readArguments(USAGE, {}, [1]).words;
  const config = readConfig(process.env);
  const { dataDir, databaseUrl } = config;
  if (databaseUrl !== undefined) {
    throw new OperatorError(
      'The data is in the database of DATABASE_URL: back it up with pg_dump, see the guide "Run on PostgreSQL".',
    );
  }
  await copySnapshot(dataDir, target, { auditSecret: auditSecretOf(config) });
  console.log(`The data of ${dataDir} was copied to ${target} and checked.`);
}

// The server that began this has ended: nobody gives the copy its name.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();

runCommand(main);
