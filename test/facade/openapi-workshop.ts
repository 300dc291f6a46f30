import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));
const generator = binOf(new URL('openapi-client/package.json', import.meta.url), 'openapi-typescript', 'bin/cli.js');
const compiler = binOf(import.meta.url, 'typescript', 'bin/tsc');

const OPTIONS = ['--module', 'nodenext', '--target', 'es2023', '--strict', '--noEmit', '--skipLibCheck'];

/** A folder in which clients of the document are generated and compiled, as one of its readers would. */
export interface Workshop {
  /** What the compiler says of a program that imports its types from `./schema.js`; empty where it compiles. */
  compile(program: string): Promise<string>;
  /** What the program writes, run with the environment. */
  run(program: string, env: Record<string, string>): Promise<string>;
  close(): Promise<void>;
}

export async function openWorkshop(document: object): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-client-'));
  await symlink(modules, join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
  const generated = await start(folder, {}, generator, 'openapi.json', '--output', 'schema.ts');
  if (generated.failed) throw new Error(generated.said);
  let count = 0;
  async function save(program: string): Promise<string> {
    const file = `program-${++count}.ts`;
    await writeFile(join(folder, file), program);
    return file;
  }

  return {
    async compile(program) {
      const { failed, said } = await start(folder, {}, compiler, ...OPTIONS, '--types', 'node', await save(program));
      return failed ? said : '';
    },
    async run(program, env) {
      const { failed, said } = await start(folder, env, '--import', 'tsx', await save(program));
      if (failed) throw new Error(said);
      return said;
    },
    close: () => rm(folder, { recursive: true }),
  };
}

function binOf(from: string | URL, name: string, path: string): string {
  return join(dirname(createRequire(from).resolve(`${name}/package.json`)), path);
}

interface Ended {
  readonly failed: boolean;
  readonly said: string;
}

/** The environment without the loader of this process, which is not the client's. */
function start(cwd: string, extra: Record<string, string>, ...args: readonly string[]): Promise<Ended> {
  const env = { ...process.env, NODE_OPTIONS: '', ...extra };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd, env }, (error, stdout, stderr) => {
      resolve({ failed: error !== null, said: `${stdout}${stderr}` });
    });
  });
}
