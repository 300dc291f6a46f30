import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLogger } from '../../../facade/launch/logger.ts';
import { createUpstreams } from '../../../facade/launch/upstreams.ts';
import { StoreUnavailable } from '../../../store/errors.ts';
import type { Store } from '../../../store/port.ts';
import { catalog } from '../../../tools/catalog.ts';
import { LiveCatalog } from '../../../tools/core/registry/catalog-index.ts';
import { Telemetry } from '../../../tools/core/telemetry/telemetry.ts';
import { closedAtEnd } from '../../support/at-end.ts';
import { dataFolder, openStoreIn, removeFolder } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { writing } from '../../support/writing.ts';

describe('integrations of which another process missed a change', () => {
  it('are followed again once the store answers', async () => {
    const folder = await dataFolder();
    const store = await openStoreIn(folder);
    const failures: unknown[] = [];
    let miss = () => {};
    let isAway = false;
    const { integrations } = store;
    const shown = {
      onCommit: () => () => {}, // no change is heard of
      cluster: {
        onGap(listener: () => void) {
          miss = listener;
          return () => {};
        },
      },
      integrations: {
        ...integrations,
        async find(query: Parameters<typeof integrations.find>[0]) {
          if (isAway) throw new StoreUnavailable('the database is away');
          return integrations.find(query);
        },
      },
    } as unknown as Store; // of which following asks nothing else
    const upstreams = createUpstreams(
      { secretsKeys: undefined, stdioIntegrations: false, privateUpstreams: true, dataDir: folder },
      new LiveCatalog(catalog),
      {
        store,
        product: { name: 'test', version: '1' },
        baseUrl: 'http://localhost',
        logger: createLogger({ logLevel: 'silent' }),
        telemetry: new Telemetry(),
        now: () => new Date(),
        onFailure: (cause) => void failures.push(cause),
      },
    );
    closedAtEnd(async () => {
      await upstreams.close();
      await store.close();
      await removeFolder(folder);
    });
    await upstreams.start(shown);
    const record = {
      name: 'Off',
      toolPrefix: 'off',
      transport: 'http',
      url: 'http://127.0.0.1:1/',
      enabled: true,
    } as const;
    const own = { readOnlyTools: [], timeoutMs: 1000, approved: [], createdBy: 'usr_1' };
    await writing(store).integrations.insert({ ...record, ...own });
    isAway = true;
    miss();
    await until(() => failures.length > 0);
    assert.deepEqual(await upstreams.health(), []);
    isAway = false;
    await until(async () => (await upstreams.health()).length === 1);
  });
});
