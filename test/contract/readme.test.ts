import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withFolder } from '../support/child.ts';
import { serverForTests } from '../support/server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const text = readFileSync(`${root}README.md`, 'utf8');

describe('the README', () => {
  const server = serverForTests();

  it('has a heading for every link of its contents, and a link for every heading', () => {
    const links = [...text.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    assert.deepEqual([...new Set(links)], headings);
  });

  it('names tests that there are for every group of guarantees', () => {
    const guarantees = text.slice(text.indexOf('## Guarantees'), text.indexOf('## Limits'));
    const groups = guarantees.split(/^### /m).slice(1);
    assert.ok(groups.length > 4);
    for (const group of groups) {
      const [title, , named = ''] = group.split('\n');
      const paths = pathsOf([...named.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
      assert.ok(paths.length > 0, title);
      for (const path of paths) assert.ok(existsSync(root + path), `${title}: there is no ${path}`);
    }
  });

  it('says why packages are not those that one would expect', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
    const decisions = text.slice(text.indexOf('### Packages'), text.indexOf('### Capsules\n\n- Besides'));
    for (const name of ['@modelcontextprotocol/sdk', 'zod-to-json-schema']) {
      assert.equal(name in dependencies, false, name);
      assert.ok(decisions.includes(`\`${name}\``), name);
    }
    assert.ok('@modelcontextprotocol/sdk' in devDependencies && '@modelcontextprotocol/server' in dependencies);
  });

  it('shows commands that work as pasted, one after the other', async () => {
    await withFolder(async (folder) => {
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

/** The first name begins with its folder, in which the next ones are until one begins with `test/` again. */
function pathsOf(names: readonly string[]): string[] {
  let folder = '';
  return names.map((name) => {
    if (name.startsWith('test/')) folder = name.endsWith('/') ? dirname(name) : dirname(`${name}.`);
    const path = name.startsWith('test/') ? name : `${folder}/${name}`;
    return path.endsWith('/') ? path : `${path}.test.ts`;
  });
}
