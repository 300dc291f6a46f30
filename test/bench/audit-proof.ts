import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { auditRecord } from '../store/records.ts';

// What the proof of the audit log costs: the processor time of an entry with and without it, in alternating rounds, to the disk.
const ENTRIES = 20_000;
const ROUNDS = 10;

const secrets = [undefined, 'a secret'] as const;
const spent: number[][] = [[], []];
for (let round = 0; round < ROUNDS; round += 1) {
  for (const [at, auditSecret] of secrets.entries()) {
    const folder = await mkdtemp(join(tmpdir(), 'agent-admin-'));
    const store = await openLowdbStore({ folder, auditSecret });
    const entries = Array.from({ length: ENTRIES }, () =>
      auditRecord({ arguments: { id: 'agt_01jt0000000000000000000000' } }),
    );
    const before = process.cpuUsage();
    for (const [number, entry] of entries.entries()) {
      store.audit.append(entry);
      if (number % 1000 === 0) await store.audit.flush();
    }
    await store.close();
    const { user, system } = process.cpuUsage(before);
    spent[at]?.push((user + system) / ENTRIES);
    await rm(folder, { recursive: true });
  }
}
const medians = spent.map((all) => all.sort((a, b) => a - b)[ROUNDS / 2] ?? 0);
const [plain = 0, proven = 0] = medians;
console.log(
  `µs an entry: ${plain.toFixed(2)} without, ${proven.toFixed(2)} with; the proof: ${(proven - plain).toFixed(2)}`,
);
process.exit();
