/**
 * Starts a program of `facade/` from a bundle, which is kept until a source, package.json, the lock file or the place changes: reading
 * hundreds of TypeScript files takes longer than the rest of a start. JavaScript, because Node 20 runs it directly.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { mapSourcePositions } from './source-maps.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = ['facade', 'resources', 'store', 'tools'];

const [program = 'main', ...args] = process.argv.slice(2);
const source = join(root, 'facade', `${program}.ts`);
process.argv = [process.argv[0], source, ...args];
const cache = join(root, 'node_modules/.cache/agent-admin');
const folder = join(cache, hashOfSources());
const bundled = join(folder, 'facade', `${program}.mjs`);

if (!existsSync(bundled)) makeBundle();
if (existsSync(bundled)) {
  mapSourcePositions();
  noteUse();
} else {
  // No bundle can be made, for example because the folder cannot be written: tsx runs the sources, with esbuild beside it.
  const { register } = await import('tsx/esm/api');
  register();
}
await import(pathToFileURL(existsSync(bundled) ? bundled : source).href);

/** In a process of its own, with which tsx, esbuild and their processes and threads end. It says what is wrong with the sources. */
function makeBundle() {
  const maker = join(root, 'facade/launch/make-bundle.ts');
  const args = ['--import', import.meta.resolve('tsx/esm'), maker, cache, folder];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}

/** Names this process as a user of the bundle, which stays as long as one of them runs: parts of it are loaded late. */
function noteUse() {
  const users = join(folder, 'in-use');
  const own = join(users, String(process.pid));
  try {
    if (!existsSync(users)) mkdirSync(users);
    writeFileSync(own, '');
  } catch {
    return; // where nothing can be written, nothing is removed either
  }
  process.once('exit', () => rmSync(own, { force: true }));
}

function hashOfSources() {
  // A bundle names the places of its sources, so it is of no use to a copy of the project, nor where the project was moved.
  const hash = createHash('sha1').update(process.version).update('\0').update(root);
  const files = SOURCES.flatMap(sourcesIn);
  // An installed package has no lock file of its own; npm names what it installed beside it.
  const packages = ['package-lock.json', 'package.json'].filter((file) => existsSync(join(root, file)));
  for (const file of [...packages, ...files.sort()])
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

/** The TypeScript files below a folder of the project. Node's own recursion takes ten times as long. */
function sourcesIn(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return sourcesIn(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}
