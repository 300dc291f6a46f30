import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withFolder } from '../support/child.ts';
import { FULL } from '../support/full.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = await readFile(join(root, 'tools/README.md'), 'utf8');
const section = readme.split(/^## /m).find((text) => text.startsWith('Add a kind of record')) ?? '';

/** Whole files, by path, as the section shows them. */
const files = new Map(
  [...section.matchAll(/^```ts\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, path = '', text = '']) => [path, text]),
);
const lines = new Map(
  [...section.matchAll(/^\| `(\S+\.ts)` \| `(.+)` \|$/gm)].map(([, path = '', line = '']) => [path, line]),
);

/** Where the lists begin, and what the line imports. */
const lists: Readonly<Record<string, { readonly begins: string; readonly imports: string }>> = {
  'store/collections.ts': {
    begins: 'export const collections = {\n',
    imports: "import { bookmark } from '../resources/bookmark.ts';\n",
  },
  'tools/kinds.ts': {
    begins: 'export const kinds: readonly Kind[] = [\n',
    imports: "import { bookmarkKind } from './bookmarks.ts';\n",
  },
  'tools/catalog.ts': {
    begins: 'export const catalog = indexCatalog([\n',
    imports: "import { bookmarkTools } from './bookmarks.ts';\n",
  },
  'facade/routes.ts': { begins: 'export const routes: readonly Route[] = [\n', imports: '' },
};

const KINDS = 'test/contract/kinds.test.ts';
const PARTS = ['resources', 'store', 'tools', 'facade', 'test/tools', KINDS];
const COPIED = ['resources', 'store', 'tools', 'facade', 'data', 'package.json', 'test/support', 'test/store', KINDS];

/** A copy of the source with the kind of the example in it, but for the lines of the lists left out. */
async function withExample(leftOut: readonly string[], work: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    await Promise.all(COPIED.map((path) => cp(join(root, path), join(folder, path), { recursive: true })));
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), include: PARTS, exclude: ['facade/dashboard'] }),
    );
    await symlink(await realpath(join(root, 'node_modules')), join(folder, 'node_modules'));
    for (const [path, text] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    for (const [path, line] of lines) {
      if (leftOut.includes(path)) continue;
      const { begins = '', imports = '' } = lists[path] ?? {};
      const text = await readFile(join(folder, path), 'utf8');
      assert.ok(begins !== '' && text.includes(begins), `${path}: the list begins otherwise`);
      await writeFile(join(folder, path), imports + text.replace(begins, () => `${begins}${line}\n`));
    }
    await work(folder);
  });
}

function failuresIn(output: string): string {
  const from = output.search(/^ *not ok/m);
  return output.slice(Math.max(from, 0)).slice(0, 3000);
}

function run(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...env, TMPDIR: folder } };
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve(error ? failuresIn(`${stdout}\n${stderr}`) : undefined),
    );
  });
}

const types = (folder: string) =>
  run(folder, join(folder, 'node_modules/typescript/bin/tsc'), '-p', folder, '--singleThreaded');
/** In one process, which reads the sources once. */
const test = (folder: string, ...paths: readonly string[]) => {
  const [first = '', ...others] = paths.map((path) => join(folder, path));
  return run(folder, ...['tsx', ...others].flatMap((path) => ['--import', path]), first);
};

describe('the kind of record that the README adds', () => {
  it('takes three files and a line in each list', () => {
    assert.deepEqual(
      [...files.keys()],
      ['resources/bookmark.ts', 'tools/bookmarks.ts', 'test/tools/bookmarks.test.ts'],
    );
    assert.deepEqual([...lines.keys()], Object.keys(lists));
  });

  it('fits the types, and is found, evented, addressed, described and purged', async () => {
    await withExample([], async (folder) => {
      // The compiler takes as long as 300 other tests.
      if (FULL) assert.equal(await types(folder), undefined);
      assert.equal(await test(folder, 'test/tools/bookmarks.test.ts', KINDS), undefined);
    });
  });

  // Each line left out takes a run of its own over a copy of the sources: a heavy round.
  if (FULL) {
    it('does not fit the types without its collection', async () => {
      await withExample(['store/collections.ts'], async (folder) => {
        assert.match((await types(folder)) ?? '', /bookmarks/);
      });
    });
  }

  for (const path of FULL ? ['tools/kinds.ts', 'tools/catalog.ts'] : []) {
    it(`is named by a contract test without its line in ${path}`, async () => {
      await withExample([path], async (folder) => {
        assert.match((await test(folder, KINDS)) ?? '', /bookmark/);
      });
    });
  }
});
