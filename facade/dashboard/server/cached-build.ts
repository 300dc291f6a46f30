import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Asset, type Built, buildDashboard, type EntryFiles, root, SHARED, sources } from './build.ts';
import type { BuiltViews } from './views.ts';

const cache = join(root, 'node_modules/.cache/agent-admin-dashboard');
/** A running server has read all files of its build, so only other starts need older ones. */
const KEPT = 3;

/** The bundle of these sources: kept from an earlier start, or made now and kept where the folder can be written. */
export async function readBuild(): Promise<Built> {
  const folder = join(cache, hashOfSources());
  const kept = readKept(folder);
  if (kept) return kept;
  const built = await buildDashboard();
  keep(built, folder);
  return built;
}

function hashOfSources(): string {
  const hash = createHash('sha1');
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(tsx?|css|svg|json|woff2)$/.test(file))
    .map((file) => join(sources, file));
  const shared = SHARED.map((file) => join(root, file));
  // An installed package has no lock file of its own.
  const packages = ['package-lock.json', 'package.json'].map((name) => join(root, name)).filter(existsSync);
  for (const file of [...packages, ...shared, ...files.sort()]) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 16);
}

function readKept(folder: string): Built | undefined {
  try {
    const { beginning, names, views } = JSON.parse(readFileSync(join(folder, 'build.json'), 'utf8')) as {
      readonly beginning: EntryFiles;
      readonly names: readonly string[];
      readonly views: BuiltViews;
    };
    return { beginning, assets: names.map((name) => readAsset(folder, name)), views };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function readAsset(folder: string, name: string): Asset {
  const plain = readFileSync(join(folder, name));
  if (name.endsWith('.woff2')) return { name, plain };
  return { name, plain, br: readFileSync(join(folder, `${name}.br`)), gzip: readFileSync(join(folder, `${name}.gz`)) };
}

/** The folder appears complete or not at all. Where nothing can be written, the build stays in memory. */
function keep({ beginning, assets, views }: Built, folder: string): void {
  let unfinished: string | undefined;
  try {
    mkdirSync(dirname(folder), { recursive: true });
    unfinished = mkdtempSync(`${folder}-`);
    for (const { name, plain, br, gzip } of assets) {
      writeFileSync(join(unfinished, name), plain);
      if (br) writeFileSync(join(unfinished, `${name}.br`), br);
      if (gzip) writeFileSync(join(unfinished, `${name}.gz`), gzip);
    }
    const names = assets.map(({ name }) => name);
    writeFileSync(join(unfinished, 'build.json'), JSON.stringify({ beginning, names, views }));
    renameSync(unfinished, folder);
    removeOld();
  } catch (error) {
    if (unfinished) rmSync(unfinished, { recursive: true, force: true });
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}

function removeOld(): void {
  const byAge = readdirSync(cache)
    .map((name) => join(cache, name))
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((one, other) => other.at - one.at);
  for (const { path } of byAge.slice(KEPT)) rmSync(path, { recursive: true, force: true });
}
