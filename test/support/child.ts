import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killedAtEnd } from './at-end.ts';
import { nodeArgs, programArgs } from './node-args.ts';
import { dataFolder, envOfFolder, removeFolder } from './store.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly args?: readonly string[];
  readonly env?: Record<string, string>;
  readonly input?: string;
  /** The folder of a copy of the project, whose program is run. */
  readonly project?: string;
}

/** What the launcher says where it takes long to bundle new sources: not what the program says. */
const BUNDLING = /^Starting: bundling .*\n/m;

/** Runs a file of the project, as its npm script does, to its end. */
export async function runFile(
  file: string,
  { args = [], env = {}, input = '', project }: RunOptions = {},
): Promise<Finished> {
  const child = spawnFile(file, args, { ...(await envOfFolder(env.DATA_DIR)), ...env }, project);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin?.end(input);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout, stderr: stderr.replace(BUNDLING, '') };
}

/** A server in a process of its own, on a free port. */
export interface ServerProcess {
  /** The address it listens on. */
  readonly baseUrl: string;
  /** What it printed until it listened. */
  readonly stdout: string;
  /** What it printed and logged until now. */
  said(): string;
  readonly process: ChildProcess;
  /** Sends the signal and waits for the end. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

/** A server in a process of its own, from its first moment. */
export interface StartingProcess {
  readonly process: ChildProcess;
  /** Everything that it printed so far. */
  said(): string;
  /** Resolves with the address when it says that it listens. Rejects where it ends before. */
  readonly listens: Promise<string>;
  readonly ended: Promise<Exit>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export async function spawnServer(
  dataDir: string,
  env: Record<string, string> = {},
  file = 'facade/main.ts',
  project?: string,
): Promise<StartingProcess> {
  const set = { PORT: '0', DATA_DIR: dataDir, ...(await envOfFolder(dataDir)), ...env };
  const child = spawnFile(file, [], set, project);
  let said = '';
  const ended = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const listens = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        said += chunk;
        const address = /listens on (\S+).*\n/.exec(said)?.[1];
        if (address) resolve(address);
      });
    void ended.then(({ code, signal }) => reject(new Error(`the server ended with ${code ?? signal}: ${said}`)));
  });
  listens.catch(() => {}); // who waits for the end alone knows it already
  return { process: child, said: () => said, listens, ended };
}

export async function startProcess(...start: Parameters<typeof spawnServer>): Promise<ServerProcess> {
  const { process: child, said, listens, ended } = await spawnServer(...start);
  const baseUrl = await listens;
  return {
    baseUrl,
    stdout: said(),
    said,
    process: child,
    async stop(signal) {
      child.kill(signal);
      return (await ended).code;
    },
  };
}

/** Runs the work with a folder that is removed afterwards. */
export async function withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await dataFolder();
  try {
    return await work(folder);
  } finally {
    await removeFolder(folder);
  }
}

/** Variables that a developer may have set for their own server, such as keys of model providers. */
const OWN = /^(BASE_URL|API_KEY|DATA_DIR|DATABASE_URL|MODEL_\w+|\w+_API_KEY)$/;

function spawnFile(
  file: string,
  args: readonly string[],
  env: Record<string, string>,
  project: string = root,
): ChildProcess {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OWN.test(name)));
  const program = /^facade\/([a-z/-]+)\.ts$/.exec(file)?.[1];
  const start = program ? programArgs(program, project) : nodeArgs(join(project, file));
  return killedAtEnd(
    spawn(process.execPath, [...start, ...args], {
      cwd: project,
      env: { ...inherited, ...env },
    }),
  );
}
