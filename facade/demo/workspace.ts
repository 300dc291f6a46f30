import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Store } from '../../store/port.ts';
import { addDays, addIntervals } from '../../tools/analytics/calendar.ts';
import type { Principal } from '../../tools/core/access/principal.ts';
import { scopeRights } from '../../tools/core/access/rights.ts';
import { OFFLINE_MODEL } from '../../tools/core/models/offline-model.ts';
import { errorOf } from '../../tools/core/registry/call.ts';
import { demoRegistry, type Sealing } from './registry.ts';
import { HOUR, MINUTE, material } from './story.ts';

/** Calls in the order of their days. `$name` in an input stands for the id of the record called so, `@+3` for the date in three days. */
const calls = z.array(
  z.strictObject({
    day: z.int().max(-1).describe('Days from today.'),
    tool: z.string(),
    inputs: z.array(z.record(z.string(), z.unknown())).min(1),
    as: z.string().optional().describe('Name of the record that the first call makes.'),
  }),
);

/** The clock of a store that is filled with a past. It is set to each time of the story, and in the end to the real time. */
export class DemoClock {
  #behind = 0;

  readonly now = (): Date => new Date(Date.now() - this.#behind);

  /** From this time on the clock runs at the usual pace. */
  set(time: number): void {
    this.#behind = Date.now() - time;
  }

  release(): void {
    this.#behind = 0;
  }
}

export const FOUNDED = -150;

/** Makes the past of the workspace: each record is made by its tool, at its time, with its version and audit entry. */
export async function fillWorkspace(
  store: Store,
  clock: DemoClock,
  { today, ...sealing }: Readonly<{ today: string }> & Sealing,
): Promise<void> {
  const url = new URL('../../data/demo/workspace.json', import.meta.url);
  const story = calls.parse(JSON.parse(readFileSync(url, 'utf8')));
  const owner = await store.adminUsers.first({ where: { role: 'owner' } });
  if (!owner) throw new Error('The store has no owner yet.');
  const { registry, close } = await demoRegistry(store, clock.now, sealing);
  const principal: Principal = {
    type: 'session',
    id: owner.id,
    name: owner.email,
    scopes: ['admin'],
    ownerId: owner.id,
    rights: scopeRights(['admin']),
  };
  const ids = new Map<string, string>();
  const call = async (tool: string, input: object) => {
    const answer = await registry.call({ principal, tool, input, door: 'rest', requestId: crypto.randomUUID() });
    if (!answer.ok) throw new Error(`${tool}: ${JSON.stringify(answer.error)}`, { cause: errorOf(answer.error) });
    return answer.output;
  };
  await call('update_settings', workspaceSettings(today));
  for (const [at, { day, tool, inputs, as }] of story.entries()) {
    clock.set(Date.parse(addDays(today, day)) + 7 * HOUR + at * 5 * MINUTE);
    for (const [index, input] of inputs.entries()) {
      const output = await call(tool, resolved(input, ids, today) as object);
      if (as !== undefined && index === 0) ids.set(as, idIn(output));
    }
  }
  await close();
}

/** The id of the record that a call made; a chat makes a thread. */
function idIn(output: object): string {
  if ('id' in output) return String(output.id);
  return 'threadId' in output ? String(output.threadId) : '';
}

function workspaceSettings(today: string) {
  const months = Array.from({ length: 26 }, (_, at) => addIntervals(`${today.slice(0, 7)}-01`, 'month', at - 25));
  const rate = (at: number) => Math.round((0.92 + 0.025 * Math.sin(at / 3)) * 10_000) / 10_000;
  return {
    workspaceName: 'Sitewell',
    timezone: 'Europe/Berlin',
    currency: 'EUR',
    exchangeRates: months.map((month, at) => ({ month: month.slice(0, 7), currency: 'USD', rate: rate(at) })),
    // The model that agents of the demo use costs nothing.
    prices: [{ model: OFFLINE_MODEL.id, from: addDays(today, FOUNDED), currency: 'EUR', input: 0, output: 0 }],
    analytics: material.analyticsSettings,
  };
}

function resolved(value: unknown, ids: ReadonlyMap<string, string>, today: string): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, ids, today));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, ids, today)]));
  }
  if (typeof value !== 'string') return value;
  const date = /^@([+-]\d+)(T?)$/.exec(value);
  if (date) return `${addDays(today, Number(date[1]))}${date[2] && 'T09:00:00.000Z'}`;
  if (!/^\$\w+$/.test(value)) return value;
  const id = ids.get(value.slice(1));
  if (id === undefined) throw new Error(`No record is called ${value} yet.`);
  return id;
}
