import { setTimeout } from 'node:timers';
import { z } from 'zod';
import { readConfig } from '../../facade/config/config.ts';
import { prepareStore } from '../../facade/launch/first-start.ts';
import { createLogger } from '../../facade/launch/logger.ts';
import { openStore } from '../../facade/launch/open-store.ts';
import { surviveErrors } from '../../facade/launch/serve.ts';
import { startServer } from '../../facade/server.ts';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { defineTool, READS } from '../../tools/core/registry/define-tool.ts';

/** Tools that leave behind an error which nobody can catch. */
const leaves: Readonly<Record<string, () => void>> = {
  leaves_timer: () => {
    setTimeout(() => {
      throw new TypeError('left in a timer');
    }, 1);
  },
  leaves_promise: () => {
    void Promise.reject(new TypeError('left in a promise'));
  },
  leaves_listener: () => {
    const target = new EventTarget();
    target.addEventListener('left', () => {
      throw new TypeError('left in a listener');
    });
    target.dispatchEvent(new Event('left'));
  },
};

const tools = Object.entries(leaves).map(([name, leave]) => ({
  group: 'Fixtures',
  tool: defineTool({
    name,
    title: 'Leaves an error',
    description: 'Leaves an error behind.',
    access: ANYONE,
    annotations: READS,
    errors: [],
    input: z.strictObject({}),
    output: z.object({ ok: z.boolean() }),
    async handler() {
      leave();
      return { ok: true };
    },
  }),
}));

/** The server with these tools. Run by the test as a process of its own. */
const config = readConfig(process.env);
const store = await openStore(config);
await prepareStore(store, config);
const server = await startServer(config, store, createLogger(config), { tools });
surviveErrors(server);
process.once('SIGTERM', async () => {
  await server.close();
  await store.close();
  process.exit(0);
});
console.log(`listens on ${server.address}`);
