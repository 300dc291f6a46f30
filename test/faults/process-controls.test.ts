import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { killedAtEnd, stoppedAtEnd } from '../support/at-end.ts';
import { withFolder } from '../support/child.ts';
import { openSmallDisk } from '../support/small-disk.ts';
import { limit, withoutLimits } from './limits.ts';
import { ProcessControls } from './process-controls.ts';

/** Evaluates each line that it reads, and prints what comes of it as JSON. */
const EVALUATOR = `
  import { createInterface } from 'node:readline';
  const print = (value = null) => console.log(JSON.stringify(value));
  for await (const line of createInterface(process.stdin)) await eval(line).then(print, (error) => print({ code: error.code }));`;

function startEvaluator(env: Record<string, string>) {
  const args = ['--input-type=module', '--eval', EVALUATOR];
  const child = killedAtEnd(
    spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] }),
  );
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    // biome-ignore lint/suspicious/noExplicitAny: what a line of a test comes to
    async ask(expression: string): Promise<any> {
      child.stdin.write(`(async () => ${expression})()\n`);
      return JSON.parse((await lines.next()).value);
    },
    async end() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

const HOUR = 3_600_000;

describe('a process whose world is controlled', () => {
  it('has a clock that goes ahead and back, everywhere where there is a date', () =>
    withFolder(async (folder) => {
      const controls = new ProcessControls(folder, '0');
      const { ask, end } = startEvaluator(controls.env);
      const ahead = async (expression: string) => Math.round(((await ask(expression)) - Date.now()) / HOUR) + 0;
      const told = async (aheadMs: number) => {
        controls.set({ aheadMs });
        while ((await ahead('Date.now()')) !== Math.round(aheadMs / HOUR));
      };
      assert.equal(await ahead('Date.now()'), 0);
      for (const hours of [5, -3]) {
        await told(hours * HOUR);
        for (const now of [
          'Date.now()',
          'new Date().getTime()',
          'Date.parse(new Date().toISOString())',
          'Date.parse(Date())',
        ])
          assert.equal(await ahead(now), hours, now);
        assert.equal(await ask('new Date(0).getTime()'), 0);
        assert.equal(
          await ask('new Date(2020, 1) instanceof Date && new (class extends Date {})() instanceof Date'),
          true,
        );
        assert.equal(await ask(`(await import('node:fs')).statSync('.').mtime instanceof Date`), true);
      }
      await told(0);
      await end();
    }));

  it('does not find hosts by their names for a while', () =>
    withFolder(async (folder) => {
      const server = stoppedAtEnd(createServer((socket) => socket.end()));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as { port: number };
      const controls = new ProcessControls(folder, '0');
      const { ask, end } = startEvaluator(controls.env);
      const connected = (host: string) =>
        ask(
          `new Promise(async (resolve, reject) => {
          const socket = (await import('node:net')).connect({ port: ${port}, host: '${host}', family: 4 });
          socket.on('connect', () => resolve('connected')).on('error', reject).resume();
        })`.replaceAll('\n', ' '),
        );
      assert.equal(await connected('localhost'), 'connected');
      controls.set({ namesAreGone: true });
      while ((await connected('localhost')) === 'connected');
      assert.deepEqual(await connected('localhost'), { code: 'EAI_AGAIN' });
      assert.equal(await connected('127.0.0.1'), 'connected');
      controls.set({ namesAreGone: false });
      while ((await connected('localhost')) !== 'connected');
      await end();
    }));

  it('may write no more, or open no more files, while it runs', { skip: withoutLimits }, () =>
    withFolder(async (folder) => {
      const { pid, ask, end } = startEvaluator({});
      const files = `(await import('node:fs/promises'))`;
      const write = () => ask(`${files}.writeFile('${folder}/file', 'x')`);
      const open = () => ask(`${files}.open('${process.execPath}').then((file) => file.close())`);
      await write();
      const mayWrite = limit(pid, 'fsize', 0);
      assert.deepEqual(await write(), { code: 'EFBIG' });
      mayWrite();
      const mayOpen = limit(pid, 'nofile', 5);
      assert.deepEqual(await open(), { code: 'EMFILE' });
      mayOpen();
      assert.equal(await open(), null);
      await end();
    }),
  );

  it('has a disk without room', (t) =>
    withFolder(async () => {
      const disk = await openSmallDisk(2);
      if (!disk) return t.skip('needs mount and unshare');
      const { ask, end } = startEvaluator({});
      const write = () => ask(`(await import('node:fs/promises')).writeFile('${disk.folder}/file', 'x').then(() => 1)`);
      assert.equal(await write(), 1);
      disk.fill();
      const other = () =>
        ask(`(await import('node:fs/promises')).writeFile('${disk.folder}/other', 'x').then(() => 1)`);
      assert.deepEqual(await other(), { code: 'ENOSPC' });
      disk.free();
      assert.equal(await other(), 1);
      await end();
      await disk.close();
    }));
});
