import { DAY_MS } from '../../resources/durations.ts';
import type { Readers, Store } from '../../store/port.ts';
import { stateOf } from '../api-keys.ts';
import type { Backups } from '../backups.ts';
import type { Clocks } from '../clocks.ts';
import type { StorageQuotas } from '../core/access/storage.ts';
import { allOf } from '../core/registry/paging.ts';
import type { Upstreams } from '../integrations/exports.ts';
import type { AlertSource, Ongoing } from './alerts.ts';

/** An integration that is away for less is tried again first. */
const AWAY_MS = 5 * 60_000;
const AWAY: readonly string[] = ['unavailable', 'wants_oauth'];

export function integrationAlerts(
  store: Pick<Readers, 'integrations'>,
  upstreams: Pick<Upstreams, 'view'>,
): AlertSource {
  return {
    name: 'integrations',
    async look(now) {
      const enabled = await allOf(store.integrations, { where: { enabled: true } });
      return enabled.flatMap(({ id, revision, toolPrefix }): Ongoing[] => {
        const { status, tools, prompts = [], resources = [] } = upstreams.view(id);
        const about = { id, revision, ids: [id, `${toolPrefix || id}/*`] };
        const isAway = AWAY.includes(status.state) && now.getTime() - Date.parse(status.since) >= AWAY_MS;
        const held = [...tools, ...prompts, ...resources].some(({ state }) => state === 'new' || state === 'changed');
        return [
          ...(isAway ? [{ ...about, type: 'integration.away' as const }] : []),
          ...(held ? [{ ...about, type: 'integration.waiting' as const }] : []),
        ];
      });
    },
  };
}

export function backupAlerts(backups: Pick<Backups, 'state'>): AlertSource {
  return {
    name: 'backups',
    async look() {
      const { status, last } = backups.state();
      return status === 'ok' ? [] : [{ type: 'backup.old', id: last?.name ?? 'none' }];
    },
  };
}

export function clockAlerts(clocks: Pick<Clocks, 'wrong'>): AlertSource {
  return {
    name: 'clocks',
    async look() {
      return (await clocks.wrong()).map(({ process, text }) => ({ type: 'clock.wrong', id: process, detail: text }));
    },
  };
}

export function storageAlerts(store: Pick<Store, 'status'>, storage: Pick<StorageQuotas, 'state'>): AlertSource {
  return {
    name: 'storage',
    async look() {
      const { nearlyFull } = await storage.state();
      const memory = store.status().nearlyFull;
      const all = [...nearlyFull, ...(memory === undefined ? [] : [{ id: 'memory', text: memory }])];
      return all.map(({ id, text }) => ({ type: 'storage.nearly_full', id, detail: text }));
    },
  };
}

export function expiryAlerts(store: Pick<Readers, 'apiKeys' | 'capsules'>): AlertSource {
  return {
    name: 'expiry',
    async look(now) {
      const keys = (await allOf(store.apiKeys, {})).filter((key) => stateOf(key, now) === 'active');
      const capsules = await allOf(store.capsules, { where: { status: 'live' } });
      return [
        ...keys.filter((key) => expiresSoon(key, now)).map((key) => expiring('key.expiring', key)),
        ...capsules.filter((each) => expiresSoon(each, now)).map((each) => expiring('capsule.expiring', each)),
      ];
    },
  };
}

interface Expiring {
  readonly id: string;
  readonly revision: number;
  readonly createdAt: string;
  readonly expiresAt?: string | undefined;
}

function expiring(type: Ongoing['type'], { id, revision, expiresAt = '' }: Expiring): Ongoing {
  return { type, id, revision, occasion: expiresAt };
}

/** A week before; a day before where it lives two weeks at most; never where it lives two days at most. */
function expiresSoon({ createdAt, expiresAt }: Expiring, now: Date): boolean {
  if (expiresAt === undefined) return false;
  const end = Date.parse(expiresAt);
  const life = end - Date.parse(createdAt);
  const notice = life > 14 * DAY_MS ? 7 * DAY_MS : life > 2 * DAY_MS ? DAY_MS : 0;
  return end > now.getTime() && end - now.getTime() <= notice;
}
