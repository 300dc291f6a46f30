import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { closeAll, closedAtEnd, killedAtEnd } from './at-end.ts';
import type { Work } from './file-suite.ts';
import { filesBelow } from './files-below.ts';
import { BUNDLE } from './node-args.ts';
import { killOverdue, killStrays, runningFile } from './overdue.ts';
import { isRunning } from './upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = process.env[BUNDLE] ? join(process.env[BUNDLE], 'test') : join(root, 'test');
const ending = process.env[BUNDLE] ? 'mjs' : 'ts';

const at = (module: string) => `${own}/${module}.${ending}`;

/** A test file that starts all there is to start, and fails before it closes any of it. */
const failing = (where: 'test' | 'before') => `
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { before, beforeEach, it } from 'node:test';
import { killedAtEnd, stoppedAtEnd } from '${at('support/at-end')}';
import { FlowWorld } from '${at('support/flow-world')}';
import { startMailServer } from '${at('support/mail-server')}';
import { startModelServer } from '${at('support/model-server')}';
import { startOidcIssuer } from '${at('support/oidc-issuer')}';
import { openTestRegistry } from '${at('support/registry')}';
import { startTestServer } from '${at('support/server')}';
import { startUpstream } from '${at('support/upstream')}';
import { startMcpServer } from '${at('facade/mcp-server')}';

async function startAll() {
  const closing = [
    await startTestServer(), await startMailServer(), await startModelServer(), await startOidcIssuer(),
    await openTestRegistry(), await FlowWorld.open(), await startUpstream(), await startMcpServer(),
  ];
  const child = killedAtEnd(spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']));
  console.log('child ' + child.pid);
  const listener = stoppedAtEnd(createServer(() => {})).listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  void fetch('http://127.0.0.1:' + listener.address().port).catch(() => {});
  assert.fail('deliberately in a ${where}');
  for (const one of closing) await one.close();
  child.kill();
  listener.close();
}

${where === 'before' ? 'before(startAll);' : "beforeEach(() => console.log('before each test'));"}
it('fails', async () => {
  ${where === 'test' ? 'await startAll();' : ''}
});
`;

const PASSING = "import { it } from 'node:test'; it('passes', () => console.log('the last file'));";

/** A test file whose error nobody catches, and that waits for ever. */
const THROWING = `
import { it } from 'node:test';
it('waits', () => new Promise(() => setTimeout(() => { throw new Error('thrown beside it'); }, 1)));
`;

/** A test file whose set-up fails after it began something that nobody closes. */
const HOLDING = `
import { before, it } from 'node:test';
before(() => { setInterval(() => {}, 1000); throw new Error('deliberately in the set-up'); });
it('never runs', () => {});
`;

/** A test file that ends its process. */
const DEADLY = "import { it } from 'node:test'; it('kills', () => process.kill(process.pid, 'SIGKILL'));";

/** The work of a process with such files, as a run of the tests gives it: those it has to run, and those it may take. */
async function workIn(folder: string, own: readonly string[], queue: readonly string[] = []): Promise<Work> {
  const taken = join(folder, 'taken');
  await mkdir(taken, { recursive: true });
  const files = own.concat(queue).map(async (text, index) => {
    const path = join(folder, `${index}.mjs`);
    await writeFile(path, text);
    return { name: `file ${index}`, path };
  });
  const all = await Promise.all(files);
  const costs = join(folder, 'costs.tsv');
  return {
    own: all.slice(0, own.length),
    queue: all.slice(own.length).map((file) => [file]),
    taken,
    costs,
    most: queue.length,
    timeoutMs: 10_000,
  };
}

/** Runs a process as a run of the tests does. Returns what it printed, and how it ended. */
async function runProcess(folder: string, work: Work) {
  const entry = join(folder, `entry-${randomUUID()}.mjs`);
  await writeFile(entry, `import { runFiles } from '${at('support/file-suite')}';\nrunFiles(${JSON.stringify(work)});`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const loader = ending === 'ts' ? ['--import', 'tsx'] : [];
  // Newer versions of Node.js print in another form where nothing is said.
  const form = ['--test-reporter', 'tap'];
  const child = killedAtEnd(spawn(process.execPath, [...loader, ...form, entry], { cwd: root, env, timeout: 120_000 }));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const [code, signal] = await once(child, 'close');
  return { text, code, signal };
}

async function withOwnFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(root, 'node_modules/.cache', `at-end-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

describe('files of one process', () => {
  it('closes what was opened last first, and then what that may use', async () => {
    const closed: string[] = [];
    closedAtEnd(async () => closed.push('database'));
    closedAtEnd(async () => {
      await delay(20);
      closed.push('store');
    });
    await closeAll();
    assert.deepEqual(closed, ['store', 'database']);
  });

  it('end with all that they started, whatever fails, and the next file begins', async () => {
    await withOwnFolder(async (folder) => {
      const files = [failing('test'), failing('before'), THROWING, PASSING];
      const { text, code, signal } = await runProcess(folder, await workIn(folder, files));
      assert.deepEqual([code, signal], [1, null], text);
      assert.match(text, /deliberately in a test/);
      assert.match(text, /deliberately in a before/);
      const children = Array.from(text.matchAll(/child (\d+)/g), ([, id]) => isRunning(Number(id)));
      assert.deepEqual(children, [false, false]);
      assert.equal(text.split('before each test').length, 2, 'a hook is for the tests of its file');
      assert.match(text, /file 2: nobody caught Error: thrown beside it/);
      assert.match(text, /^not ok 3 - file 2$/m);
      assert.match(text, /the last file/);
      assert.match(text, /^ok 4 - file 3$/m);
    });
  });

  it('end their process though something is left open, which is named', async () => {
    await withOwnFolder(async (folder) => {
      const { text, code } = await runProcess(folder, await workIn(folder, [HOLDING, PASSING]));
      assert.equal(code, 1, text);
      assert.match(text, /deliberately in the set-up/);
      assert.match(text, /^ok 2 - file 1$/m);
      assert.match(text, /left open: .*Timeout/);
    });
  });

  it('are left for the other processes when theirs dies, but for the one it died of', async () => {
    await withOwnFolder(async (folder) => {
      const work = await workIn(folder, [], [PASSING, DEADLY, PASSING]);
      const died = await runProcess(folder, work);
      assert.equal(died.signal, 'SIGKILL');
      const other = await runProcess(folder, work);
      assert.deepEqual([other.code, other.text.match(/^ok \d+ - .*$/gm)], [0, ['ok 1 - file 2']], other.text);
      const ran = (await readFile(work.costs, 'utf8')).trim().split('\n');
      assert.deepEqual(
        ran.map((line) => line.replace(/\t\d+$/, '')),
        ['file 0', 'file 2'],
      );
    });
  });
});

describe('a process whose file goes on after its time-out', () => {
  it('is killed, and no other', async () => {
    await withOwnFolder(async (folder) => {
      const busy = () => killedAtEnd(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
      const [overdue, inTime] = [busy(), busy()];
      const ended = once(overdue, 'exit');
      for (const pid of [overdue.pid, inTime.pid, process.pid])
        await writeFile(runningFile(folder, pid ?? 0), 'a file that never ends');
      for (const pid of [overdue.pid, process.pid]) await utimes(runningFile(folder, pid ?? 0), 0, 0);
      const stop = killOverdue(folder, 1000, 50);
      assert.deepEqual(await ended, [null, 'SIGKILL']);
      stop();
      assert.equal(inTime.exitCode ?? inTime.signalCode, null);
    });
  });
});

describe('what is left after the last file of a run', () => {
  it('is killed, and nothing else', {
    skip: !existsSync('/proc/self/environ') && 'no system that tells environments',
  }, async () => {
    await withOwnFolder(async (folder) => {
      const idle = (TMPDIR: string) =>
        killedAtEnd(
          spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
            env: { ...process.env, TMPDIR },
            stdio: 'ignore',
          }),
        );
      const [stray, another] = [idle(folder), idle(`${folder}-of-another-run`)];
      let isOver = false;
      const stop = killStrays(folder, () => isOver, 20, 0);
      const ended = once(stray, 'exit');
      await delay(100);
      assert.equal(stray.signalCode, null, 'there are files to run');
      isOver = true;
      assert.deepEqual(await ended, [null, 'SIGKILL']);
      stop();
      assert.equal(another.signalCode, null);
    });
  });
});

describe('what test files start themselves', () => {
  it('is closed whatever happens', () => {
    const files = filesBelow(join(root, 'test'));
    const starts = /\b(createServer|spawn|fork)\(/;
    const forgetful = files
      .filter((file) => /\.test\.ts$/.test(file))
      .map((file) => ({ file, text: readFileSync(join(root, 'test', file), 'utf8').replace(/fork\(\{/g, '') }))
      .filter(({ text }) => starts.test(text) && !/\/(at-end|loopback)\.ts'/.test(text))
      .map(({ file }) => file);
    assert.deepEqual(forgetful, [], 'These use what test/support/at-end.ts has, or onLoopback.');
  });
});
