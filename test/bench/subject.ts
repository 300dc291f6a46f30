import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { createLogger } from '../../facade/launch/logger.ts';
import { startServer } from '../../facade/server.ts';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';
import { openPostgresStore } from '../../store/postgres/open.ts';
import { CountedPoint, HistogramSeries } from '../../tools/core/telemetry/meter.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';

/**
 * The process under measurement: a real server whose store holds as many agents as the argument says. The fourth argument holds variables of
 * its environment: `DATABASE_URL` names a database, which another process may have filled; `UNMEASURED` has it measure nothing.
 */
const count = Number(process.argv[2]);
const { UNMEASURED, ...given } = JSON.parse(process.argv[4] ?? '{}') as Record<string, string>; // as the bench wrote it
if (UNMEASURED) measureNothing();
const folder = await mkdtemp(join(tmpdir(), 'agent-admin-bench-'));
const own = { PORT: '0', LOG_LEVEL: 'silent', BOOTSTRAP_API_KEY: process.argv[3], DATA_DIR: folder };
const config = readConfig({ ...given, ...own });
const { DATABASE_URL: url } = given;
const open = () => (url ? openPostgresStore({ url }) : openLowdbStore({ folder }));

const filled = await open();
await prepareStore(filled, config);
const id = await fill(filled);
await filled.close();

const started = performance.now();
const store = await open();
const openMs = Math.round(performance.now() - started);
await store.search('agents', { text: 'agent', limit: 1 }); // waits until all words are indexed, which would be measured too
const server = await startServer(config, store, createLogger(config));
process.send?.({ baseUrl: server.address, id, openMs });
const loop = monitorEventLoopDelay({ resolution: 10 });
process.on('message', async (message: 'cpu' | 'health' | 'stop') => {
  if (message === 'cpu') return process.send?.(process.cpuUsage());
  if (message === 'health') return process.send?.(health());
  await server.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
});

/** Memory in MB, open descriptors, and how late the event loop was since it was asked last. */
function health() {
  globalThis.gc?.();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const mb = (bytes: number) => Math.round(bytes / 2 ** 20);
  const loopP99Ms = loop.percentile(99) / 1e6 - 10;
  loop.reset();
  loop.enable();
  const descriptors = readdirSync('/proc/self/fd').length;
  return { rss: mb(rss), heap: mb(heapUsed), buffers: mb(arrayBuffers), descriptors, loopP99Ms };
}

/** What is left then is a listener and a few closures in each request. */
function measureNothing(): void {
  Telemetry.prototype.call = (_, __, work) => work();
  Telemetry.prototype.called = () => {};
  HistogramSeries.prototype.record = () => {};
  CountedPoint.prototype.add = () => {};
}

async function fill(into: Store): Promise<string> {
  let last = (await into.agents.find({ limit: 1 })).records[0]?.id ?? '';
  for (let from = 0; from < count; from += 1000) {
    await into.transaction(async (tx) => {
      for (let n = from; n < Math.min(count, from + 1000); n += 1) {
        const memoryPolicy = { remember: false, maxInjected: 20 };
        const status = n % 10 === 0 ? 'paused' : 'active';
        const record = {
          name: `agent ${n}`,
          displayName: `Agent ${n}`,
          description: 'x'.repeat(200),
          status,
          maxSteps: 10,
          memoryPolicy,
        } as const;
        last = (await tx.agents.insert(record)).id;
      }
    });
  }
  return last;
}
