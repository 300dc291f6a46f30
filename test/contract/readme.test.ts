import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withFolder } from '../support/child.ts';
import { filesBelow } from '../support/files-below.ts';
import { serverForTests } from '../support/server.ts';
import { blocksOf, commandFolder, isCommand, isRun, requireKnownMarks, runShown } from '../support/shown-commands.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const GUIDES = 'facade/guides';
const SPECIFICATION = 'test/facade/oauth/specification.md';
const isHere = (path: string) => existsSync(join(root, path));
const documents = ['facade', 'resources', 'store', 'test', 'tools']
  .flatMap((folder) => filesBelow(join(root, folder)).map((path) => join(folder, path)))
  .filter((path) => path.endsWith('.md'));
const texts = new Map(['README.md', ...documents.sort()].map((path) => [path, readFileSync(join(root, path), 'utf8')]));
const textOf = (path: string) => texts.get(path) ?? assert.fail(`there is no ${path}`);
const readmes = [...texts].filter(([path]) => path.endsWith('README.md'));
const guides = [...texts].filter(([path]) => dirname(path) === GUIDES);

/** The first line of each block that no test runs: it installs, or speaks to servers beyond this machine. */
const NOT_RUN = [
  'npm ci --omit=dev && npm start   # runs it; requires Node 20.19 or newer, nothing else',
  'npm ci && npm run dev      # the server, started anew at each change',
  `npm run tool -- create_integration '{"name": "Everything", "transport": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]}'`,
  `npm run tool -- create_integration '{"name": "Notes", "transport": "http", "url": "https://notes.example/mcp", "auth": "oauth-per-person"}'`,
];

describe('the documents', () => {
  const server = serverForTests();

  it('link to headings and files that are there', () => {
    for (const [path, text] of texts) {
      for (const [link, to, anchor] of linksOf(text)) {
        const target = to === '' ? path : join(dirname(path), to);
        assert.ok(isHere(target), `${path}: ${link}`);
        if (anchor) assert.ok(anchorsOf(textOf(target)).includes(anchor), `${path}: ${link}`);
      }
    }
  });

  it('name files and folders that are there', () => {
    for (const [path, text] of readmes) {
      for (const line of proseOf(text).split('\n')) {
        for (const { named, found } of pathsIn(line, dirname(path)))
          assert.ok(found !== undefined, `${path}: there is no ${named}`);
      }
    }
  });

  it('are short', () => {
    assert.ok(Buffer.byteLength(textOf('README.md')) < 12_000);
    const all = readmes.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);
    assert.ok(all < 90_000, `the READMEs have ${all} bytes`);
  });

  it('that are served to users begin with their title and link to each other alone', () => {
    assert.ok(guides.length > 10);
    for (const [path, text] of guides) {
      assert.match(text, /^# \S.*\n\n/, path);
      for (const [link, to] of linksOf(text)) assert.equal(dirname(join('.', to)), '.', `${path}: ${link}`);
    }
  });

  it('name tests that there are for every guarantee', () => {
    const [, guarantees = ''] = textOf('test/README.md').split('\n## Guarantees\n');
    const rows = guarantees.split('\n').filter((line) => /^\| (?!guarantee |---)/.test(line));
    assert.ok(rows.length > 60);
    for (const row of rows) {
      const [, , tests = ''] = row.split(/ ?\| ?/);
      const paths = [...tests.matchAll(/`([^`]+)`/g)].map(([, name = '']) => `test/${name}`);
      assert.ok(paths.length > 0, row);
      for (const path of paths) assert.ok(isHere(path.endsWith('/') ? path : `${path}.test.ts`), `${row}: no ${path}`);
    }
  });

  it('name a file and a test that there are for each point of the specification of authorization', () => {
    const rows = textOf(SPECIFICATION)
      .split('\n')
      .filter((line) => /^\| .*`.*`: /.test(line));
    assert.ok(rows.length > 30);
    for (const row of rows) {
      const [, , where = '', tests = ''] = row.split(' | ').flatMap((cell, at) => (at === 0 ? ['', cell] : [cell]));
      for (const [, file = ''] of where.matchAll(/`([^`]+\.ts)`/g)) {
        assert.ok(isHere(file) || isHere(`facade/${file}`), `${row}: there is no ${file}`);
      }
      for (const each of tests.replace(/ \|$/, '').split(/; (?=`)/)) {
        const [, name = '', title = ''] = /^`([^`]+)`: (.+)$/.exec(each) ?? [];
        const file = `${name.includes('/') ? name : `test/facade/oauth/${name}`}.test.ts`;
        assert.ok(isHere(file), `${row}: there is no ${file}`);
        assert.ok(readFileSync(join(root, file), 'utf8').includes(`it('${title}'`), `${name} has no test: ${title}`);
      }
    }
  });

  it('say why packages are not those that one would expect', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const text = textOf('README.md');
    const decisions = text.slice(text.indexOf('## Departures'));
    for (const name of ['@modelcontextprotocol/sdk', 'zod-to-json-schema']) {
      assert.equal(name in dependencies, false, name);
      assert.ok(decisions.includes(`\`${name}\``), name);
    }
    assert.ok('@modelcontextprotocol/sdk' in devDependencies && '@modelcontextprotocol/server' in dependencies);
  });

  it('show commands that work as pasted, one after the other', async () => {
    await withFolder(async (folder) => {
      const reference = guides.filter(([path]) => path.startsWith(`${GUIDES}/reference-`));
      const text = [...readmes, ...reference].map(([, each]) => each).join('\n');
      const blocks = blocksOf(text.replaceAll('http://127.0.0.1:3000', server.baseUrl));
      requireKnownMarks(blocks);
      const left = blocks.filter((block) => isCommand(block) && !isRun(block)).map(({ text }) => text.split('\n')[0]);
      assert.deepEqual(left, NOT_RUN);
      const env = { API_KEY: server.adminKey, BASE_URL: server.baseUrl };
      const stdout = (await runShown(blocks.filter(isRun), { cwd: await commandFolder(folder), env })).join('');
      assert.match(stdout, /"name":"ada"/);
      assert.match(stdout, /event: final/);
      assert.match(stdout, /"status":"succeeded"/);
      assert.match(stdout, /users: 2 new, 0 changed, 0 unchanged, 0 refused/);
    });
  });
});

/** The links that lead into the project: the whole link, the file and the heading. */
function linksOf(text: string): [string, string, string | undefined][] {
  return [...text.matchAll(/\]\(([^)#\s]*)(?:#([\w-]+))?\)/g)]
    .filter(([, to = '']) => !/^https?:/.test(to))
    .map(([link, to = '', anchor]) => [link, to, anchor]);
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

function proseOf(text: string): string {
  return text.replace(/^```.*?^```$/gms, '');
}

/** The files and folders that a line names, from the folder of its document, from the top, or beside the one named before. */
function pathsIn(line: string, folder: string): { named: string; found: string | undefined }[] {
  let beside = folder;
  return [...line.matchAll(/`((?:[\w.-]+\/)*(?:[\w.-]+\.(?:ts|mjs|js|tsv|css|md|json)|[\w.-]+\/))`/g)]
    .map(([, named = '']) => named)
    .filter((named) => !MADE.includes(named))
    .map((named) => {
      const found = [folder, '.', beside].map((from) => normalize(join(from, named))).find(isHere);
      if (found !== undefined) beside = dirname(found);
      return { named, found };
    });
}

/** What only a running server or an installation makes. */
const MADE = ['data/local/', 'db.json', 'node_modules/.cache/'];
