import assert from 'node:assert/strict';
import { it } from 'node:test';
import { withoutPostgres } from '../support/postgres.ts';
import type { StoreKind } from '../support/store.ts';
import { runFaults } from './run.ts';

const { FAULTS = '5', FAULTS_SEED = '1' } = process.env;

/** Declares the test of so many processes on the store under load, which faults befall. */
export function testFaults(store: StoreKind, processes: number): void {
  const skip = store === 'postgres' && withoutPostgres;
  it(`${processes} on ${store} lose, double and halve nothing in ${FAULTS} faults, and recover`, {
    skip,
  }, async (test) => {
    test.diagnostic(`FAULTS_SEED=${FAULTS_SEED}`);
    const lines: string[] = [];
    const say = (line: string) => void lines.push(line);
    const report = await runFaults({
      store,
      processes,
      faults: Number(FAULTS),
      seed: Number(FAULTS_SEED),
      isLong: false,
      say,
    });
    for (const row of report.table.split('\n')) test.diagnostic(row);
    assert.deepEqual(report.violations, [], lines.join('\n'));
  });
}
