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

/** Runs such files in one process, as a run of the tests does. Returns what the process printed. */
async function runTogether(folder: string, texts: Readonly<Record<string, string>>): Promise<string> {
  await mkdir(folder, { recursive: true });
  const files = Object.keys(texts).map((name) => ({ name, path: join(folder, `${name}.mjs`) }));
  for (const { name, path } of files) await writeFile(path, texts[name] ?? '');
  const entry = join(folder, 'entry.mjs');
  await writeFile(
    entry,
    `import { runFiles } from '${at('support/file-suite')}';\nrunFiles(${JSON.stringify(files)}, 10_000);`,
  );
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const loader = ending === 'ts' ? ['--import', 'tsx'] : [];
  const child = killedAtEnd(spawn(process.execPath, [...loader, entry], { cwd: root, env, timeout: 120_000 }));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const [code, signal] = await once(child, 'close');
  assert.deepEqual([code, signal], [1, null], text);
  return text;
}

describe('files of one process', () => {
  it('end with all that they started, whatever fails, and the next file begins', async (t) => {
    const folder = join(root, 'node_modules/.cache', `at-end-${process.pid}`);
    t.after(() => rm(folder, { recursive: true, force: true }));
    const text = await runTogether(folder, {
      first: failing('test'),
      second: failing('before'),
      third: THROWING,
      last: PASSING,
    });
    assert.match(text, /deliberately in a test/);
    assert.match(text, /deliberately in a before/);
    const children = Array.from(text.matchAll(/child (\d+)/g), ([, id]) => isRunning(Number(id)));
    assert.deepEqual(children, [false, false]);
    assert.equal(text.split('before each test').length, 2, 'a hook is for the tests of its file');
    assert.match(text, /third: nobody caught Error: thrown beside it/);
    assert.match(text, /^not ok 3 - third$/m);
    assert.match(text, /the last file/);
    assert.match(text, /^ok 4 - last$/m);
  });
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
