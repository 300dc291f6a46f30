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
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type Plugin, stop } from 'esbuild';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A bundle is kept for at least this long, and while a process uses it. The newest ones are kept for ever. */
const KEPT_MS = 24 * 60 * 60 * 1000;
const KEPT = 3;

/**
 * Bundles programs (paths below the project) into `folder` as `<path>.mjs`, packages included. Dynamic imports stay separate files. The
 * folder appears complete or not at all.
 */
export async function bundle(
  entries: readonly string[],
  folder: string,
  external: readonly string[] = [],
): Promise<void> {
  mkdirSync(dirname(folder), { recursive: true });
  const unfinished = mkdtempSync(`${folder}-`);
  try {
    await build({
      entryPoints: [...entries],
      absWorkingDir: root,
      outbase: root,
      outdir: unfinished,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      minifyWhitespace: true,
      external: [...WITH_BINARIES, ...UNUSED, ...OPTIONAL, ...external],
      sourcemap: 'linked',
      sourcesContent: false,
      plugins: [ownAddresses],
      banner: { js: REQUIRE },
      logLevel: 'error',
    });
    for (const file of readdirSync(unfinished, { recursive: true, encoding: 'utf8' })) {
      if (file.endsWith('.mjs')) escapeCharacters(join(unfinished, file));
    }
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    if (!isDirectory(folder)) throw error; // otherwise another process was faster
  } finally {
    await stop();
  }
}

/** One character outside Latin-1 would double the memory of its whole file. esbuild leaves them in expressions and tagged templates. */
function escapeCharacters(path: string): void {
  const text = readFileSync(path, 'utf8');
  const escaped = text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  if (escaped !== text) writeFileSync(path, escaped);
}

/** Packages that look for binaries beside their own files. */
const WITH_BINARIES = ['esbuild', '@duckdb/node-api'];

/** Packages that may not be installed, and what belongs to them. */
const OPTIONAL = ['@opentelemetry/*'];

/** No configuration of graphile-worker is in TypeScript, and Express parses no body. They would only take memory. */
const UNUSED = ['typescript', 'iconv-lite'];

const COMMANDS = [
  'agent-admin',
  ...'demo stdio tool import backup export import-all export-audit verify-audit doctor recover-key'.split(' '),
];
const PROGRAMS = ['main', ...COMMANDS.map((name) => `commands/${name}`)];

/** Bundles all programs with their packages. There is no bundle afterwards where the folder cannot be written. */
export async function bundlePrograms(cache: string, folder: string): Promise<void> {
  try {
    await bundle(
      PROGRAMS.map((program) => `facade/${program}.ts`),
      folder,
    );
    removeOldBundles(cache);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
  }
}

function removeOldBundles(cache: string): void {
  const folders = readdirSync(cache).map((name) => join(cache, name));
  const byAge = folders.map((path) => ({ path, at: statSync(path).mtimeMs })).sort((one, other) => other.at - one.at);
  const old = byAge.slice(KEPT).filter(({ at }) => at < Date.now() - KEPT_MS);
  for (const { path } of old) if (!isInUse(path)) rmSync(path, { recursive: true, force: true });
}

function isInUse(bundled: string): boolean {
  const users = join(bundled, 'in-use');
  return existsSync(users) && readdirSync(users).some((pid) => isRunning(Number(pid)));
}

export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'; // it runs as somebody else
  }
}

/** Source files find the files beside them by `import.meta`. In a bundle, it must still name the source file. */
const ownAddresses: Plugin = {
  name: 'own-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const own = { url: pathToFileURL(path).href, dirname: dirname(path), filename: path };
      const contents = text.replace(/import\.meta\.(url|dirname|filename)\b/g, (_, name: keyof typeof own) =>
        JSON.stringify(own[name]),
      );
      return { loader: 'ts', contents };
    });
  },
};

/** CommonJS packages call `require`, which modules do not have. */
const REQUIRE =
  "import { createRequire as ownRequire } from 'node:module'; const require = ownRequire(import.meta.url);";

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
