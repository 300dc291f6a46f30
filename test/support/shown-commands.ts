import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { killedAtEnd } from './at-end.ts';
import { FULL } from './full.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A fenced block of a Markdown text. */
export interface Block {
  /** What stands behind the fence, word by word: the language, and how a test takes the block. */
  readonly info: readonly string[];
  readonly text: string;
}

/** How a test takes a block of commands besides running it. */
const MARKS = ['not-run', 'refused', 'start'] as const;

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)].map(([, info = '', text = '']) => ({
    info: info.split(' '),
    text,
  }));
}

export const isCommand = ({ info: [language = ''] }: Block) => /^(sh|bash)$/.test(language);
export const isRun = (block: Block) => isCommand(block) && !block.info.includes('not-run');
/** A file of a client, as it is pasted there. */
export const isConfig = ({ info }: Block) => info.includes('config');

/** @throws AssertionError for a block that no test would take as it is meant */
export function requireKnownMarks(blocks: readonly Block[]): void {
  for (const [at, block] of blocks.entries()) {
    const { info, text } = block;
    const [language = '', ...marks] = info;
    if (isCommand(block)) {
      assert.ok(
        marks.every((mark) => (MARKS as readonly string[]).includes(mark)),
        `no test knows ${info.join(' ')}`,
      );
    } else if (!isConfig(block) && /^(json|text)$/.test(language)) {
      const before = blocks[at - 1];
      assert.ok(before && isRun(before), `no command answers this:\n${text}`);
    }
  }
}

interface ShellOptions {
  /** A folder made by `commandFolder`. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs the commands of the blocks one after the other in one shell, as somebody who pastes them, and stops at the first that fails. Resolves
 * with what each block printed. A block marked `refused` has to fail; the last command of one marked `start` is a server, which goes on in the
 * background from when it is ready until the next such block, or the end.
 */
export async function runShown(blocks: readonly Block[], { cwd, env }: ShellOptions): Promise<string[]> {
  const printed = await mkdtemp(join(tmpdir(), 'shown-'));
  const outputOf = (index: number) => join(printed, String(index));
  const pieces = blocks.map((block, index) => `exec > ${outputOf(index)}\n${scriptOf(block)}\n`);
  const given = { ...inherited(), ...env };
  const shell = killedAtEnd(spawn('bash', ['-c', PRELUDE + pieces.join('')], { cwd, env: given }));
  shell.stdin.end();
  let complaints = '';
  shell.stderr.on('data', (chunk) => {
    complaints += chunk;
  });
  const code = await new Promise((resolve) => shell.once('close', resolve));
  const outputs = await Promise.all(blocks.map((_, index) => readFile(outputOf(index), 'utf8').catch(() => undefined)));
  if (code !== 0) {
    const last = outputs.filter((output) => output !== undefined).length - 1;
    assert.fail(`exit ${code} in:\n${blocks[last]?.text}\nprinted:\n${outputs[last]}\n${complaints}`);
  }
  return outputs.map((output) => output ?? '');
}

/** A server runs without npm, which does not end with it; except in a full run every script does, as npm takes as long as the script. */
const npm = () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const programs = Object.entries(scripts).filter(([name, script]) => script.startsWith('node ') && name !== 'start');
  return `npm() {
  if [ "$1" = start ]; then exec ${scripts.start}; fi
${FULL ? '  command npm "$@"; return' : ''}
  shift; if [ "$1" = -s ]; then shift; fi
  local name=$1; shift; if [ "\${1:-}" = -- ]; then shift; fi
  case $name in
${programs.map(([name, script]) => `    ${name}) ${script} "$@" ;;`).join('\n')}
    *) echo "package.json has no program $name" >&2; return 1 ;;
  esac
}
`;
};

const PRELUDE = `set -euo pipefail
curl() { command curl --fail-with-body --silent --show-error "$@"; }
${npm()}
server=
stop_server() { if [ -n "$server" ]; then kill "$server" && wait "$server" || true; fi; }
trap stop_server EXIT
`;

/** What is given by the environment is not set again by the block that shows where to put it. */
function scriptOf({ info, text }: Block): string {
  const own = text.replace(/^export (BASE_URL|API_KEY|GITHUB_TOKEN)=.*\n/gm, '');
  if (info.includes('refused')) return `if ${own.trim()}\nthen echo 'This was not refused.' >&2; exit 1; fi`;
  if (!info.includes('start')) return own;
  return `stop_server
${own.trim()} &
server=$!
until command curl --fail --silent "$BASE_URL/readyz" > /dev/null; do kill -0 "$server"; sleep 0.1; done`;
}

/** Without the variables that a developer may have set for their own server. */
function inherited(): Record<string, string | undefined> {
  const own = /^(BASE_URL|API_KEY|DATA_DIR|DATABASE_URL|MODEL_\w+|\w+_API_KEY|NODE_TEST_CONTEXT)$/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}

/** Makes a folder in which `npm run ...` and `npx agent-admin ...` are those of the project, and files that commands write are nobody's. */
export async function commandFolder(folder: string): Promise<string> {
  for (const name of ['package.json', 'resources', 'store', 'tools', 'tsconfig.json']) {
    await symlink(join(root, name), join(folder, name));
  }
  await mkdir(join(folder, 'facade/deploy'), { recursive: true });
  for (const name of await readdir(join(root, 'facade'))) {
    if (name !== 'deploy') await symlink(join(root, 'facade', name), join(folder, 'facade', name));
  }
  const programs = join(folder, 'node_modules/.bin');
  await mkdir(programs, { recursive: true });
  await symlink(join(root, 'facade/launch/agent-admin.mjs'), join(programs, 'agent-admin'));
  await writeFile(join(folder, '.npmrc'), 'update-notifier=false\n');
  return folder;
}

/** Checks each answer that follows a block of commands against what the block printed. */
export function requireAnswers(blocks: readonly Block[], outputs: ReadonlyMap<Block, string>): void {
  for (const [at, block] of blocks.entries()) {
    const before = blocks[at - 1];
    const printed = before && outputs.get(before);
    if (printed === undefined || isCommand(block) || isConfig(block)) continue;
    if (block.info[0] === 'json') requireShown(JSON.parse(block.text), lastJson(printed), '');
    else requireLines(block.text, printed);
  }
}

/** The last JSON value of the output: a value may take several lines. */
function lastJson(printed: string): unknown {
  const lines = printed.trimEnd().split('\n');
  for (let from = lines.length - 1; from >= 0; from -= 1) {
    try {
      return JSON.parse(lines.slice(from).join('\n'));
    } catch {
      // it begins further up
    }
  }
  return assert.fail(`no JSON was printed:\n${printed}`);
}

/** What is shown is there. `...` in a text stands for any text, as the last of a list for any further ones; members may be left out. */
function requireShown(shown: unknown, found: unknown, path: string): void {
  const message = `${path}: ${JSON.stringify(found)} is not as shown: ${JSON.stringify(shown)}`;
  if (typeof shown === 'string' && shown.includes('...')) {
    assert.ok(typeof found === 'string' && matches(shown, found), message);
  } else if (Array.isArray(shown)) {
    assert.ok(Array.isArray(found), message);
    const wanted = shown.at(-1) === '...' ? shown.slice(0, -1) : shown;
    assert.ok(wanted.length < shown.length ? found.length >= wanted.length : found.length === wanted.length, message);
    for (const [index, each] of wanted.entries()) requireShown(each, found[index], `${path}[${index}]`);
  } else if (typeof shown === 'object' && shown !== null) {
    assert.ok(typeof found === 'object' && found !== null, message);
    for (const [name, value] of Object.entries(shown)) {
      assert.ok(name in found, `${path}.${name} is missing in ${JSON.stringify(found)}`);
      requireShown(value, Reflect.get(found, name), `${path}.${name}`);
    }
  } else assert.deepEqual(found, shown, message);
}

function requireLines(shown: string, printed: string): void {
  const lines = printed.split('\n');
  for (const line of shown.trimEnd().split('\n')) {
    if (line === '...') continue;
    assert.ok(
      lines.some((each) => matches(line, each)),
      `"${line}" was not printed:\n${printed}`,
    );
  }
}

function matches(shown: string, found: string): boolean {
  const parts = shown.split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(found);
}
