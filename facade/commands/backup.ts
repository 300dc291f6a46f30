import { OperatorError } from '../../store/errors.ts';
import { copySnapshot } from '../../store/lowdb/backup.ts';
import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { explainExit } from './explain-exit.ts';

async function main([target, ...rest]: readonly string[]): Promise<void> {
  if (target === undefined || rest.length > 0) {
    console.error(
      `Usage: ${howToRun('backup')} <folder>\n\nThe folder must be empty or absent. Start a server on it with DATA_DIR=<folder>.`,
    );
    process.exitCode = 1;
    return;
  }
  const { dataDir, databaseUrl } = readConfig(process.env);
  if (databaseUrl !== undefined) {
    throw new OperatorError(
      'The data is in the database of DATABASE_URL: back it up with pg_dump, see the guide "Run on PostgreSQL".',
    );
  }
  await copySnapshot(dataDir, target);
  console.log(`The data of ${dataDir} was copied to ${target} and checked.`);
}

// The server that began this has ended: nobody gives the copy its name.
process.once('disconnect', () => process.exit(1));
process.channel?.unref();

main(process.argv.slice(2)).catch(explainExit);
