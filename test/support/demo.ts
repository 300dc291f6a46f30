import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillDemo } from '../../facade/demo/fill.ts';
import { DemoClock } from '../../facade/demo/workspace.ts';
import { closedAtEnd } from './at-end.ts';
import { BUNDLE } from './node-args.ts';
import { startTestServer, type TestServer } from './server.ts';
import { keepForRun, openStoreIn } from './store.ts';

/** A server with the demo workspace, which is called Sitewell and belongs to admin@localhost. */
export async function startDemoServer(env: Record<string, string> = {}): Promise<TestServer> {
  const folder = await demoFolder();
  const server = await startTestServer({ LOG_LEVEL: 'info', ...env }, { copyOf: join(folder, DATA) });
  return { ...server, adminKey: await readFile(join(folder, KEY), 'utf8') };
}

const DATA = 'data';
const KEY = 'admin-key';

/** A folder with the data of the workspace and its key. Filling it takes seconds, so a run of the tests keeps one for all its files. */
async function demoFolder(): Promise<string> {
  const ofRun = process.env[BUNDLE];
  if (ofRun === undefined) {
    const folder = await filledFolder(tmpdir());
    closedAtEnd(() => rm(folder, { recursive: true, force: true }));
    return folder;
  }
  const kept = join(ofRun, 'demo');
  if (existsSync(kept)) return kept;
  const filled = await filledFolder(ofRun);
  await rename(filled, kept).catch((error) => {
    if (!existsSync(kept)) throw error; // otherwise another process was faster
  });
  return kept;
}

async function filledFolder(within: string): Promise<string> {
  const folder = await mkdtemp(join(within, 'demo-'));
  const clock = new DemoClock();
  const data = join(folder, DATA);
  await keepForRun(data);
  const store = await openStoreIn(data, { now: clock.now });
  try {
    const config = { adminEmail: 'admin@localhost', bootstrapKey: undefined, dataDir: data, secretsKeys: undefined };
    const { made } = await fillDemo(store, clock, config);
    await writeFile(join(folder, KEY), made?.admin ?? '');
    return folder;
  } finally {
    await store.close();
  }
}
