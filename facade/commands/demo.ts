import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLowdbStore } from '../../store/lowdb/open.ts';
import { readConfig } from '../config/config.ts';
import { howToRun } from '../config/how-to-run.ts';
import { fillDemo } from '../demo/fill.ts';
import { DemoClock } from '../demo/workspace.ts';
import { createLogger } from '../launch/logger.ts';
import { serve } from '../launch/serve.ts';
import { Start } from '../launch/start.ts';
import { takePort } from '../server.ts';
import { answerHelp, explainExit } from './run-command.ts';

const USAGE = `Usage: ${howToRun('demo')}

Runs a server on a demo workspace, whose folder is removed when it ends.
Environment: that of a server, for example PORT.`;

/** Runs a server on a folder of its own with a demo workspace. The folder is removed when the server ends. */
async function main(start: Start): Promise<void> {
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'agent-admin-demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const config = { ...readConfig(process.env), dataDir: folder, backups: undefined };
  const logger = createLogger(config);
  const http = await takePort(config, logger);
  console.log('Making a demo workspace; this takes a few seconds.');
  const clock = new DemoClock();
  const store = await openLowdbStore({ folder, now: clock.now, opening: start, auditSecret: randomUUID() });
  start.step('filling the demo workspace');
  const first = await fillDemo(store, clock, config);
  await serve(config, store, logger, { start, http, prepare: async () => first });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`A demo workspace, ready after ${seconds} s; Ctrl-C ends the server and removes ${folder}.`);
}

answerHelp(USAGE);
const start = new Start();
main(start).catch((error) => {
  if (!start.signal.aborted) explainExit(error);
  process.exit();
});
