import { parseArgs } from 'node:util';
import { closeAll, closeShared } from '../support/at-end.ts';
import { runFaults } from './run.ts';

/** `npm run faults -- --faults 1000 --store postgres --processes 3 --seed 1`. */
const { values } = parseArgs({
  options: {
    faults: { type: 'string', default: '100' },
    store: { type: 'string', default: 'embedded' },
    processes: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
  },
});
const store = values.store === 'postgres' ? 'postgres' : 'lowdb';
const faults = Number(values.faults);
const processes = Number(values.processes ?? (store === 'postgres' ? 3 : 1));
const seed = Number(values.seed);
/** So many faults take an hour, and some of them may last 30 s. */
const LONG = 300;
const RECOVERY_MS = 10_000;

let isStopped = false;

async function main(): Promise<void> {
  const report = await runFaults({
    ...{
      store,
      faults,
      processes,
      seed,
      isLong: faults >= LONG,
      recoveryMs: RECOVERY_MS,
      say: (line) => console.log(line),
    },
    isStopped: () => isStopped,
    ...(values.only !== undefined && { only: new RegExp(values.only) }),
  });
  console.log(report.table);
  console.log(`Memory and files of a process: ${report.flatness}.`);
  const { length } = report.violations;
  console.log(
    `${length} violations. Again: npm run faults -- --faults ${faults} --store ${values.store} --processes ${processes} --seed ${seed}`,
  );
  if (length > 0) process.exitCode = 1;
}

// At the first signal, what befell until then is compared and reported.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    isStopped = true;
    process.once(signal, () => void closeAll().then(() => process.exit(1)));
  });
try {
  await main();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await closeAll();
  await closeShared();
}
process.exit();
