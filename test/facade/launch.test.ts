import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readdir, readFile, realpath, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { killedAtEnd } from '../support/at-end.ts';
import { withFolder } from '../support/child.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = ['esbuild', 'tsx'];
/** As the bundle of the programs names them: where one is missing, no bundle is made. */
const COMMANDS = [
  'agent-admin',
  ...'demo stdio tool import backup export import-all export-audit verify-audit doctor recover-key'.split(' '),
];
/** Loads a part of itself when it gets a signal. */
const MAIN = `
process.stdout.write('begun ');
for await (const line of process.stdin) {
  const { late } = await import('./late.ts');
  console.log(late);
  break;
}
`;

/** A project that is as small as the launcher can start it, with nothing bundled so far. */
async function withProject(work: (project: string) => Promise<void>): Promise<void> {
  await withFolder(async (made) => {
    const project = await realpath(made);
    const files = {
      'package.json': '{"type": "module"}',
      'package-lock.json': '{}',
      'facade/main.ts': MAIN,
      'facade/late.ts': "export const late: string = 'loaded';",
      // In one piece, the bundle of the tests would put its own address here.
      'facade/place.ts': `export const place: string = ${['import', 'meta', 'filename'].join('.')};`,
      ...Object.fromEntries(COMMANDS.map((name) => [`facade/commands/${name}.ts`, 'export {};'])),
    };
    for (const folder of ['resources', 'store', 'tools', 'node_modules', 'facade/commands'])
      await mkdir(join(project, folder), { recursive: true });
    for (const [path, text] of Object.entries(files)) await writeFile(join(project, path), text);
    await cp(join(root, 'facade/launch'), join(project, 'facade/launch'), {
      recursive: true,
      filter: (path) => !path.endsWith('.ts') || path.endsWith('bundle.ts'),
    });
    for (const name of PACKAGES)
      await symlink(await realpath(join(root, 'node_modules', name)), join(project, 'node_modules', name));
    await work(project);
  });
}

const cacheOf = (project: string) => join(project, 'node_modules/.cache/agent-admin');

interface Started {
  readonly child: ChildProcess;
  /** Has the late part loaded, and resolves at the end with all that was said. */
  finish(): Promise<string>;
}

async function launch(project: string): Promise<Started> {
  const child = killedAtEnd(spawn(process.execPath, [join(project, 'facade/launch/launch.mjs')], { cwd: project }));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const ended = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), ended.then(() => assert.fail(said))]);
  return {
    child,
    async finish() {
      child.stdin.end('go on\n');
      await ended;
      return said;
    },
  };
}

/** Starts the program from changed sources, which makes a new bundle and removes old ones, and ends it. */
async function startChanged(project: string, state: number): Promise<void> {
  await writeFile(join(project, 'facade/late.ts'), `export const late = 'loaded ${state}';`);
  assert.equal(await (await launch(project)).finish(), `begun loaded ${state}\n`);
}

/** The commands of the processes that the process started and that still run. */
async function childrenOf(pid: number): Promise<string[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8')));
  const children = lists.flatMap((list) => list.trim().split(' ').filter(Boolean));
  return Promise.all(children.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8')));
}

async function makeOld(folder: string): Promise<void> {
  const past = new Date(Date.now() - 48 * 3600 * 1000);
  await utimes(folder, past, past);
}

describe('the launcher', () => {
  it('makes one bundle where several first starts come at once, and all of them run', async () => {
    await withProject(async (project) => {
      const started = await Promise.all([launch(project), launch(project), launch(project)]);
      for (const each of started) assert.equal(await each.finish(), 'begun loaded\n');
      const bundles = await readdir(cacheOf(project));
      assert.equal(bundles.length, 1, bundles.join());
    });
  });

  it('makes a bundle of its own where the project was copied or moved with one, and names the places there', async () => {
    await withProject(async (project) => {
      await writeFile(join(project, 'facade/late.ts'), "export { place as late } from './place.ts';");
      const [copy, moved] = [`${project}-copy`, `${project}-moved`];
      try {
        assert.equal(await (await launch(project)).finish(), `begun ${project}/facade/place.ts\n`);
        await cp(project, copy, { recursive: true, verbatimSymlinks: true });
        assert.equal(await (await launch(copy)).finish(), `begun ${copy}/facade/place.ts\n`);
        await rename(project, moved);
        assert.equal(await (await launch(moved)).finish(), `begun ${moved}/facade/place.ts\n`);
        assert.equal(await (await launch(copy)).finish(), `begun ${copy}/facade/place.ts\n`);
        assert.equal((await readdir(cacheOf(copy))).length, 2);
      } finally {
        for (const folder of [copy, moved]) await rm(folder, { recursive: true, force: true });
      }
    });
  });

  it('ends with no process of esbuild, from the first start on', async () => {
    await withProject(async (project) => {
      const { child, finish } = await launch(project);
      const left = await childrenOf(Number(child.pid));
      assert.deepEqual(left, []);
      assert.equal(await finish(), 'begun loaded\n');
    });
  });

  it('removes an old bundle, but not beside a process that uses it', async () => {
    await withProject(async (project) => {
      const server = await launch(project);
      const [name = ''] = await readdir(cacheOf(project));
      await makeOld(join(cacheOf(project), name));
      for (const state of [1, 2, 3, 4]) await startChanged(project, state);
      assert.ok((await readdir(cacheOf(project))).includes(name));
      assert.equal(await server.finish(), 'begun loaded\n');
      await startChanged(project, 5);
      assert.ok(!(await readdir(cacheOf(project))).includes(name));
    });
  });

  it('removes an old bundle whose users were killed', async () => {
    await withProject(async (project) => {
      const { child } = await launch(project);
      child.kill('SIGKILL');
      await once(child, 'close');
      const [name = ''] = await readdir(cacheOf(project));
      for (const state of [1, 2, 3]) await startChanged(project, state);
      await makeOld(join(cacheOf(project), name));
      await startChanged(project, 4);
      assert.ok(!(await readdir(cacheOf(project))).includes(name));
    });
  });

  it('describes an error where no file can be opened any more, and the places of the next one where it can', async () => {
    await withFolder(async (folder) => {
      const thrower = [
        `import { closeSync, openSync } from 'node:fs';`,
        `import { mapSourcePositions } from ${JSON.stringify(new URL('facade/launch/source-maps.mjs', `file://${root}`).href)};`,
        'mapSourcePositions();',
        'const kept = [];',
        `try { for (;;) kept.push(openSync('/dev/null', 'r')); } catch (error) {`,
        '  const first = String(error.stack);',
        '  for (const each of kept) closeSync(each);',
        `  console.log(/EMFILE/.test(first), /thrower\\.ts/.test(new Error('next').stack));`,
        '}',
      ];
      const mappings = thrower.map((_, line) => (line === 0 ? 'AAAA' : 'AACA')).join(';');
      const map = { version: 3, sources: ['thrower.ts'], names: [], mappings };
      const file = join(folder, 'thrower.mjs');
      await writeFile(file, thrower.join('\n'));
      await writeFile(`${file}.map`, JSON.stringify(map));
      const shell = ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, file];
      const { stdout, stderr, status } = spawnSync('sh', shell, { encoding: 'utf8' });
      assert.deepEqual([stdout, status], ['true true\n', 0], stderr);
    });
  });

  it('says what to raise where no file can be opened', async () => {
    await withFolder(async (folder) => {
      const file = join(folder, 'starter.mjs');
      const reporter = JSON.stringify(pathToFileURL(join(root, 'facade/commands/run-command.ts')).href);
      await writeFile(
        file,
        `import { openSync } from 'node:fs';
        import { explainExit } from ${reporter};
        try { for (;;) openSync('/dev/null', 'r'); } catch (error) { explainExit(error); }`,
      );
      const shell = ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, '--import', 'tsx', file];
      const { stderr, status } = spawnSync('sh', shell, { encoding: 'utf8', cwd: root });
      assert.match(
        stderr,
        /^This process can open no more files \(EMFILE: .*\)\. Raise its limit .*, then try again\.\n$/,
      );
      assert.equal(status, 1);
    });
  });

  it('names the places of an error in the sources', async () => {
    await withProject(async (project) => {
      await writeFile(
        join(project, 'facade/late.ts'),
        "type Late = string;\n\nexport const late: Late = fail();\nfunction fail(): Late {\n  throw new TypeError('broken');\n}\n",
      );
      const said = await (await launch(project)).finish();
      const places = said
        .match(/^ +at .*facade\/late\.ts:\d+:\d+/gm)
        ?.map((place) => place.split(project).join('').trim());
      assert.deepEqual(places, ['at fail (/facade/late.ts:5:9', 'at /facade/late.ts:3:27'], said);
    });
  });
});
