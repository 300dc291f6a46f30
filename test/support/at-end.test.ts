import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { killedAtEnd } from './at-end.ts';
import { BUNDLE } from './node-args.ts';
import { isRunning } from './upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const own = process.env[BUNDLE] ? join(process.env[BUNDLE], 'test') : join(root, 'test');
const ending = process.env[BUNDLE] ? 'mjs' : 'ts';

/** A test file that starts all there is to start, and fails before it closes any of it. */
const failing = (where: 'test' | 'before') => `
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { before, it } from 'node:test';
import { killedAtEnd, stoppedAtEnd } from '${own}/support/at-end.${ending}';
import { FlowWorld } from '${own}/support/flow-world.${ending}';
import { startMailServer } from '${own}/support/mail-server.${ending}';
import { startModelServer } from '${own}/support/model-server.${ending}';
import { startOidcIssuer } from '${own}/support/oidc-issuer.${ending}';
import { openTestRegistry } from '${own}/support/registry.${ending}';
import { startTestServer } from '${own}/support/server.${ending}';
import { startUpstream } from '${own}/support/upstream.${ending}';
import { startMcpServer } from '${own}/facade/mcp-server.${ending}';

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
  assert.fail('deliberately');
  for (const one of closing) await one.close();
  child.kill();
  listener.close();
}

${where === 'before' ? 'before(startAll);' : ''}
it('fails', async () => {
  ${where === 'test' ? 'await startAll();' : ''}
});
`;

describe('a file with a failing assertion', () => {
  for (const where of ['test', 'before'] as const) {
    it(`ends, with all that it started: in a ${where}`, async (t) => {
      const folder = join(root, 'node_modules/.cache', `at-end-${process.pid}-${where}`);
      await mkdir(folder, { recursive: true });
      t.after(() => rm(folder, { recursive: true, force: true }));
      const file = join(folder, 'failing.test.mts');
      await writeFile(file, failing(where));
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const child = killedAtEnd(
        spawn(process.execPath, ['--import', 'tsx', file], { cwd: root, env, timeout: 120_000 }),
      );
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
      const [code, signal] = await once(child, 'close');
      assert.deepEqual([code, signal], [1, null], text);
      assert.match(text, /deliberately/);
      assert.equal(isRunning(Number(/child (\d+)/.exec(text)?.[1])), false);
    });
  }
});

describe('what test files start themselves', () => {
  it('is closed whatever happens', () => {
    const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
    const starts = /\b(createServer|spawn|fork)\(/;
    const forgetful = files
      .filter((file) => /\.test\.ts$/.test(file))
      .map((file) => ({ file, text: readFileSync(join(root, 'test', file), 'utf8').replace(/fork\(\{/g, '') }))
      .filter(({ text }) => starts.test(text) && !text.includes("/at-end.ts'"))
      .map(({ file }) => file);
    assert.deepEqual(forgetful, [], 'These use stoppedAtEnd or killedAtEnd of test/support/at-end.ts.');
  });
});
