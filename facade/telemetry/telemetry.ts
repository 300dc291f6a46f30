import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../../store/port.ts';
import type { Dependency } from '../../tools/core/registry/context.ts';
import { observedStore } from '../../tools/core/telemetry/observed-store.ts';
import { measureProcess } from '../../tools/core/telemetry/process.ts';
import { measureStore } from '../../tools/core/telemetry/store-gauges.ts';
import { Telemetry } from '../../tools/core/telemetry/telemetry.ts';
import type { TelemetrySettings } from '../config/telemetry-config.ts';
import type { Collector } from './collector.ts';
import { Delivery } from './delivery.ts';

/** How long the end of the server waits for a collector. */
const LEAVE_MS = 3000;

interface Surroundings {
  readonly settings: TelemetrySettings;
  readonly name: string;
  readonly version: string;
  readonly store: Store;
  readonly logger: Logger;
  readonly toolNames: readonly string[];
}

export async function startTelemetry(surroundings: Surroundings) {
  const { settings, store, version, toolNames } = surroundings;
  const address = settings.tracesUrl ?? settings.metricsUrl;
  const delivery = address === undefined ? undefined : new Delivery(new URL(address).origin, surroundings.logger);
  const collector = delivery && (await openIfInstalled(surroundings, delivery));
  const { showsContent } = settings;
  const telemetry = new Telemetry({ tracer: collector?.tracer, showsContent, toolNames });
  const { meter } = telemetry.measures;
  const ownProcess = measureProcess();
  meter.observe(() => [...ownProcess.read(), buildOf(version)]);
  measureStore(meter, store);
  collector?.sendMetrics(meter);
  return {
    telemetry,
    store: observedStore(store, telemetry),
    dependencies: (delivery ? [delivery] : []) as readonly Dependency[],
    /** Sends what is left, if the collector takes it soon. */
    async close() {
      ownProcess.close();
      await Promise.race([collector?.close(), delay(LEAVE_MS, undefined, { ref: false })]);
    },
  };
}

/** A server whose installation lacks the optional packages works without them, and says so. */
async function openIfInstalled(surroundings: Surroundings, delivery: Delivery): Promise<Collector | undefined> {
  const { openCollector } = await import('./collector.ts');
  try {
    return await openCollector({ ...surroundings, delivery });
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || !/MODULE_NOT_FOUND/.test(String(error.code))) throw error;
    delivery.note(new Error('The packages of OpenTelemetry are not installed; run npm install --include=optional.'));
    return undefined;
  }
}

function buildOf(version: string) {
  const measure = {
    name: 'agent_admin.build.info',
    unit: '1',
    help: 'The version of this server.',
    labels: ['service.version'],
  };
  return { measure, kind: 'gauge' as const, points: [{ labels: [version], value: 1 }] };
}
