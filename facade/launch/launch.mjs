/**
 * Starts a program of `facade/` from a bundle. The bundle is made at the first start and kept until a source, package.json or the lock file changes,
 * because reading 500 TypeScript files takes longer than everything else in a start. `node facade/launch/launch.mjs <program> [arguments]`.
 * This file is JavaScript because Node 20 runs it directly.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { showSourcePlaces } from './source-places.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = ['facade', 'resources', 'store', 'tools'];

const [program = 'main', ...args] = process.argv.slice(2);
const source = join(root, 'facade', `${program}.ts`);
process.argv = [process.argv[0], source, ...args];
const cache = join(root, 'node_modules/.cache/agent-admin');
const folder = join(cache, hashOfSources());
const bundled = join(folder, 'facade', `${program}.mjs`);

if (!existsSync(bundled)) await makeBundle();
if (existsSync(bundled)) {
  showSourcePlaces();
  noteUse();
}
await import(pathToFileURL(existsSync(bundled) ? bundled : source).href);

/** Where no bundle can be made, for example because the folder cannot be written, tsx runs the sources. */
async function makeBundle() {
  const { register } = await import('tsx/esm/api');
  const unregister = register();
  const { bundlePrograms } = await import('./bundle.ts');
  if (await bundlePrograms(cache, folder)) await unregister();
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
  const hash = createHash('sha1').update(process.version);
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
