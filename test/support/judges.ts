import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = fileURLToPath(new URL('../judges', import.meta.url));
const manifest = manifestIn(folder);
const dependencies = { ...manifest?.dependencies, ...manifest?.optionalDependencies };

interface Manifest {
  readonly version: string;
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  /** Those of one platform: elsewhere npm leaves them out. */
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Why judges cannot be had here, for tests that need these packages of test/judges; undefined where they can. */
export function judgesLack(...names: readonly string[]): string | undefined {
  const unknown = names.find((name) => dependencies[name] === undefined);
  if (unknown !== undefined) throw new Error(`${unknown} is not in test/judges/package.json.`);
  const missing = names.filter((name) => manifestIn(placeOf(name))?.version !== versionOf(dependencies[name]));
  return missing.length === 0 ? undefined : `needs ${missing.join(', ')}: npm ci --prefix test/judges`;
}

/** The version in an entry, which may name another package: `npm:name@version`. */
function versionOf(entry = ''): string {
  return entry.slice(entry.lastIndexOf('@') + 1);
}

/** The file that Node.js runs for a program of a package; `bin` where the package has several. */
export function judgeProgram(name: string, bin?: string): string {
  const { bin: bins = {} } = manifestIn(placeOf(name)) ?? {};
  const file = typeof bins === 'string' ? bins : bins[bin ?? Object.keys(bins)[0] ?? ''];
  if (file === undefined) throw new Error(`${name} has no program ${bin ?? ''}.`);
  return join(placeOf(name), file);
}

/** Where a file of a package is that others import: `name/file`, or the package itself. */
export function judgeModule(specifier: string): string {
  return pathToFileURL(createRequire(join(folder, 'package.json')).resolve(specifier)).href;
}

/** The folder of a package, or of all of them. */
export function placeOf(name = ''): string {
  return join(folder, 'node_modules', name);
}

function manifestIn(place: string): Manifest | undefined {
  const file = join(place, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}
