import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFolder } from '../support/child.ts';
import { serverForTests } from '../support/server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const FILES = [
  'README.md',
  'tools/README.md',
  'facade/README.md',
  'facade/deploy/README.md',
  'store/README.md',
  'test/README.md',
];
const texts = new Map(FILES.map((path) => [path, readFileSync(`${root}${path}`, 'utf8')]));
const textOf = (path: string) => texts.get(path) ?? assert.fail(`there is no ${path}`);

describe('the READMEs', () => {
  const server = serverForTests();

  it('link to headings and files that are there', () => {
    for (const [path, text] of texts) {
      for (const [link, to = '', anchor] of text.matchAll(/\]\(([^)#\s]*)(?:#([\w-]+))?\)/g)) {
        if (/^https?:/.test(to)) continue;
        const target = to === '' ? path : relative(root, resolve(root, dirname(path), to));
        assert.ok(existsSync(root + target), `${path}: ${link}`);
        if (anchor) assert.ok(anchorsOf(textOf(target)).includes(anchor), `${path}: ${link}`);
      }
    }
  });

  it('begin with one that is read in a few minutes', () => {
    assert.ok(Buffer.byteLength(textOf('README.md')) < 12_000);
  });

  it('names tests that there are for every group of guarantees', () => {
    const text = textOf('test/README.md');
    const guarantees = text.slice(text.indexOf('## Guarantees'));
    const groups = guarantees.split(/^### /m).slice(1);
    assert.ok(groups.length > 4);
    for (const group of groups) {
      const [title, , named = ''] = group.split('\n');
      const paths = pathsOf([...named.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
      assert.ok(paths.length > 0, title);
      for (const path of paths) assert.ok(existsSync(root + path), `${title}: there is no ${path}`);
    }
  });

  it('names a file and a test that there are for each point of the specification of authorization', () => {
    const text = textOf('facade/README.md');
    const [, section = ''] = /^## Authorization, point by point\n(.*?)^## /ms.exec(text) ?? [];
    const rows = section.split('\n').filter((line) => /^\| .*`.*`: /.test(line));
    assert.ok(rows.length > 30);
    for (const row of rows) {
      const [, , where = '', tests = ''] = row.split(' | ').flatMap((cell, at) => (at === 0 ? ['', cell] : [cell]));
      for (const [, file = ''] of where.matchAll(/`([^`]+\.ts)`/g)) {
        assert.ok(existsSync(`${root}${file}`) || existsSync(`${root}facade/${file}`), `${row}: there is no ${file}`);
      }
      for (const each of tests.replace(/ \|$/, '').split(/; (?=`)/)) {
        const [, name = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(each) ?? [];
        const file = `${root}${name.includes('/') ? name : `test/facade/oauth/${name}`}.test.ts`;
        assert.ok(existsSync(file), `${row}: there is no ${file}`);
        assert.ok(readFileSync(file, 'utf8').includes(`it('${title}'`), `${name} has no test: ${title}`);
      }
    }
  });

  it('says why packages are not those that one would expect', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
    const text = textOf('README.md');
    const decisions = text.slice(text.indexOf('## Departures'));
    for (const name of ['@modelcontextprotocol/sdk', 'zod-to-json-schema']) {
      assert.equal(name in dependencies, false, name);
      assert.ok(decisions.includes(`\`${name}\``), name);
    }
    assert.ok('@modelcontextprotocol/sdk' in devDependencies && '@modelcontextprotocol/server' in dependencies);
  });

  it('shows commands that work as pasted, one after the other', async () => {
    await withFolder(async (folder) => {
      const text = [...texts.values()].join('\n');
      const blocks = [...text.matchAll(/^```sh\n(.+?)^```$/gms)].map(([, block = '']) => block);
      const pasted = blocks.filter((block) => !/npm ci|int_\.\.\./.test(block)).join('');
      const script = pasted
        .replace(/^export API_KEY=.*$/m, '')
        .replaceAll('http://127.0.0.1:3000', server.baseUrl)
        .replaceAll('users.csv', `${folder}/users.csv`);
      const strict = 'set -euo pipefail; curl() { command curl --fail --silent --show-error "$@"; }\n';
      const env = { ...process.env, API_KEY: server.adminKey, BASE_URL: server.baseUrl };
      const { stdout } = await promisify(execFile)('bash', ['-c', strict + script], { cwd: root, env });
      assert.match(stdout, /"name":"ada"/);
      assert.match(stdout, /event: final/);
      assert.match(stdout, /"status":"succeeded"/);
      assert.match(stdout, /users: 2 new, 0 changed, 0 unchanged, 0 refused/);
    });
  });
});

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The first name begins with its folder, in which the next ones are until one begins with `test/` again. */
function pathsOf(names: readonly string[]): string[] {
  let folder = '';
  return names.map((name) => {
    if (name.startsWith('test/')) folder = name.endsWith('/') ? dirname(name) : dirname(`${name}.`);
    const path = name.startsWith('test/') ? name : `${folder}/${name}`;
    return path.endsWith('/') ? path : `${path}.test.ts`;
  });
}
