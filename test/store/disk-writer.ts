import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { agentRecord, auditRecord } from './records.ts';

/**
 * Writes until the operating system refuses, then after space has returned; prints what it saw as one JSON line.
 * Run by the full disk test as a process of its own, whose file size limit or small file system does the refusing.
 */
const [folder = '', mode = ''] = process.argv.slice(2);
const store = await openLowdbStore({ folder, probeMs: 20 });
const acknowledged: string[] = [];
const refused: string[] = [];
const reasons = new Set<string>();

async function write(id: string): Promise<void> {
  try {
    await store.transaction(async (tx) => {
      await tx.agents.insert(agentRecord(id, { id, instructions: 'x'.repeat(2000) }));
      tx.audit.append(auditRecord({ id: `aud_${id}` }));
    });
    acknowledged.push(id);
  } catch (error) {
    refused.push(id);
    const cause = error instanceof Error ? error.cause : undefined;
    reasons.add(`${error?.constructor.name} ${cause instanceof Error && 'code' in cause ? cause.code : ''}`.trim());
  }
}

let batch = 0;
for (; refused.length === 0 && batch < 1000; batch += 1) {
  await Promise.all(Array.from({ length: 16 }, (_, at) => write(`agt_${batch}_${at}`)));
}
const full = { ...store.status(), count: await store.agents.count({}), reserved: await holes() };
const relieved = mode === 'limit' ? liftLimit() : freeSpace();
const started = Date.now();
while (!store.status().writable && Date.now() - started < (relieved ? 5000 : 100))
  await new Promise((resolve) => setTimeout(resolve, 10));
const recovered = store.status().writable;
await Promise.all(Array.from({ length: 16 }, (_, at) => write(`agt_after_${at}`)));
await store.audit.flush();
await store.close();
process.stdout.write(
  `${JSON.stringify({ acknowledged, refused, reasons: [...reasons], full, relieved, recovered })}\n`,
);

/** False where the system has no such command. */
function liftLimit(): boolean {
  return spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited']).status === 0;
}

function freeSpace(): true {
  rmSync(`${folder}/../filler`);
  return true;
}

async function holes(): Promise<number> {
  let seen = 0;
  for (const id of refused) if (await store.agents.get(id)) seen += 1;
  return seen;
}
