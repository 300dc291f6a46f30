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
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BuiltViews, viewOptions, viewsOf } from './views.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const sources = fileURLToPath(new URL('..', import.meta.url));

/** What the bundle takes from elsewhere in the product. */
const SHARED: readonly string[] = [
  'facade/commands/import/presets.ts',
  'facade/oauth/host-steps.ts',
  'resources/csv.ts',
  'resources/durations.ts',
  'resources/json.ts',
  'resources/minor-units.ts',
  'store/backoff.ts',
  'tools/documents/passages.ts',
];

/** A file that browsers load, in every encoding in which it is sent. */
export interface Asset {
  readonly name: string;
  readonly plain: Buffer;
  /** Undefined if compression gains nothing. */
  readonly br?: Buffer;
  readonly gzip?: Buffer;
}

/** Which files a page begins with. */
export interface EntryFiles {
  readonly script: string;
  /** The script that begins the calls of the home page. */
  readonly begin: string;
  /** The script of the sign-in page. */
  readonly signIn: string;
  readonly style: string;
  readonly font: string;
  readonly icon: string;
  /** Chunks that the script imports at once. */
  readonly chunks: readonly string[];
  /** The script of each page by the name of its file, with what it imports besides. */
  readonly pages: Readonly<Record<string, readonly string[]>>;
}

export type Built = Readonly<{ beginning: EntryFiles; assets: readonly Asset[]; views: BuiltViews }>;

/** Bundles the dashboard and the pages for hosts. esbuild and its process are needed for this only, so they are loaded here and ended afterwards. */
async function buildDashboard(): Promise<Built> {
  const { build, stop } = await import('esbuild');
  try {
    const tsconfig = `${sources}tsconfig.json`;
    const inHosts = build({ ...viewOptions(sources), absWorkingDir: root, tsconfig });
    const begin = build({
      ...OPTIONS,
      absWorkingDir: root,
      splitting: false,
      format: 'iife',
      entryPoints: [`${sources}begin.ts`],
      tsconfig,
    });
    const { outputFiles, metafile } = await build({
      ...OPTIONS,
      absWorkingDir: root,
      entryPoints: { main: `${sources}main.tsx`, 'sign-in': `${sources}sign-in.ts`, icon: `${sources}style/icon.svg` },
      tsconfig,
    });
    checkInputs(Object.keys(metafile.inputs));
    const assets = await Promise.all(
      [...outputFiles, ...(await begin).outputFiles]
        .map(({ path, contents }) => ({ name: path.slice(path.lastIndexOf('/') + 1), plain: Buffer.from(contents) }))
        .filter(({ name }) => !/^icon-.*\.js$/.test(name))
        .map(compressed),
    );
    const views = viewsOf((await inHosts).outputFiles);
    return { beginning: beginningIn(metafile.outputs, assets), assets, views };
  } finally {
    await stop();
  }
}

/**
 * A kept build would not notice a change of a file that is not named. Packages are below the project or, where it is one itself, beside it.
 * @throws Error
 */
function checkInputs(inputs: readonly string[]): void {
  const known = (file: string) =>
    /(^|\/)node_modules\/|^\.\.\//.test(file) || file.startsWith('facade/dashboard/') || SHARED.includes(file);
  const strange = inputs.filter((file) => !known(file));
  if (strange.length > 0) throw new Error(`SHARED in server/build.ts does not name ${strange.join(', ')}.`);
}

const OPTIONS = {
  outdir: 'assets',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  write: false,
  metafile: true,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  loader: { '.woff2': 'file', '.svg': 'file' },
  legalComments: 'none',
  logLevel: 'error',
} as const;

type Output = Readonly<{ entryPoint?: string; imports: readonly { readonly path: string; readonly kind: string }[] }>;

function fileOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function beginningIn(outputs: Readonly<Record<string, Output>>, assets: readonly Asset[]): EntryFiles {
  const named = (pattern: RegExp) => {
    const found = assets.find(({ name }) => pattern.test(name));
    if (!found) throw new Error(`The bundle of the dashboard has no file ${pattern}.`);
    return found.name;
  };
  const script = named(/^main-.*\.js$/);
  const chunksOf = ({ imports }: Output) =>
    imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => fileOf(path));
  const [, main] = Object.entries(outputs).find(([path]) => fileOf(path) === script) ?? [];
  const chunks = main ? chunksOf(main) : [];
  const pages = Object.entries(outputs).flatMap(([path, output]) => {
    const name = /dashboard\/pages\/([\w-]+)\.tsx$/.exec(output.entryPoint ?? '')?.[1];
    if (name === undefined) return [];
    return [[name, [fileOf(path), ...chunksOf(output).filter((chunk) => !chunks.includes(chunk))]] as const];
  });
  return {
    script,
    begin: named(/^begin-.*\.js$/),
    signIn: named(/^sign-in-.*\.js$/),
    style: named(/^main-.*\.css$/),
    font: named(/^inter-[^-]+\.woff2$/),
    icon: named(/^icon-.*\.svg$/),
    chunks,
    pages: Object.fromEntries(pages),
  };
}

const [toBrotli, toGzip] = [promisify(brotliCompress), promisify(gzip)];

async function compressed({ name, plain }: Asset): Promise<Asset> {
  if (name.endsWith('.woff2')) return { name, plain };
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
  const [br, zipped] = await Promise.all([toBrotli(plain, { params }), toGzip(plain, { level: 9 })]);
  return { name, plain, br, gzip: zipped };
}

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
