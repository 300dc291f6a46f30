import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Guide } from '../../facade/guides/guides.ts';
import { startPeriodicTask } from '../../store/periodic-task.ts';
import { mustCall } from './calls.ts';
import { withFolder } from './child.ts';
import { freePort } from './free-port.ts';
import { hostsModule, startGitHub, startVendors } from './guide-upstreams.ts';
import { startMailServer } from './mail-server.ts';
import { postgresPrograms, startPostgres } from './postgres.ts';
import { keyOfSomebody } from './second-person.ts';
import { startTestServer } from './server.ts';
import { blocksOf, commandFolder, isRun, requireAnswers, runShown } from './shown-commands.ts';
import { startReceiver } from './webhook-world.ts';

/** Where the commands of a guide are run. */
interface GuideWorld {
  readonly env: Readonly<Record<string, string>>;
  /** What stands in for addresses of the text. */
  readonly addresses: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const KEY = `ak_${'0a'.repeat(4)}_${'1b'.repeat(20)}`;

/** Whether it starts its server itself. */
export const startsServer = ({ markdown }: Pick<Guide, 'markdown'>) =>
  blocksOf(markdown).some(({ info }) => info.includes('start'));

/** A running server, or the surroundings in which the guide starts one, and what it speaks of beyond this machine. */
async function guideWorld(name: string, markdown: string, folder: string): Promise<GuideWorld> {
  if (name === 'github-to-slack-and-mail') return sending();
  const base = startsServer({ markdown }) ? await surroundings() : await running();
  if (name === 'flow-from-github') {
    return withMore(base, {
      env: { GITHUB_TOKEN: 'ghp_...' },
      addresses: { 'https://api.github.com': await startGitHub() },
    });
  }
  if (name === 'connect-a-model') {
    const { ollama, openAi, anthropic } = await startVendors();
    const module = join(folder, 'hosts.mjs');
    await writeFile(module, hostsModule({ 'https://api.openai.com': openAi, 'https://api.anthropic.com': anthropic }));
    const env = { NODE_OPTIONS: `--import=${pathToFileURL(module)}` };
    return withMore(base, { env, addresses: { 'http://localhost:11434': ollama } });
  }
  if (name === 'use-from-openai-clients') {
    const installed = fileURLToPath(new URL('../../node_modules/openai', import.meta.url));
    await symlink(installed, join(folder, 'node_modules/openai'));
  }
  if (name === 'run-on-postgresql') {
    const postgres = await startPostgres();
    const { hostname, port, username } = new URL(postgres.url);
    const PATH = `${postgresPrograms()}${delimiter}${process.env.PATH}`;
    const env = { PATH, PGHOST: hostname, PGPORT: port, PGUSER: username };
    const addresses = { 'postgres://user:password@localhost:5432': postgres.url.replace(/\/\w+$/, '') };
    return withMore(base, { env, addresses, close: postgres.stop });
  }
  return base;
}

/** Runs the commands of a guide, and compares the answers that it shows. */
export async function followGuide({ name, markdown }: Guide): Promise<void> {
  await withFolder(async (folder) => {
    const cwd = await commandFolder(folder);
    const { env, addresses, close } = await guideWorld(name, markdown, folder);
    const text = Object.entries(addresses).reduce((all, [from, to]) => all.replaceAll(from, to), markdown);
    const blocks = blocksOf(text);
    const run = blocks.filter(isRun);
    try {
      const outputs = await runShown(run, { cwd, env });
      requireAnswers(blocks, new Map(run.map((block, index) => [block, outputs[index] ?? ''])));
    } finally {
      await close();
    }
  });
}

async function running(): Promise<GuideWorld> {
  const { baseUrl, adminKey, close } = await startTestServer();
  return { env: { BASE_URL: baseUrl, API_KEY: adminKey }, addresses: {}, close };
}

/** A server with what it sends to, and another admin user, who approves whatever waits. */
async function sending(): Promise<GuideWorld> {
  const [github, slack, mail] = [await startGitHub(), await startReceiver(), await startMailServer()];
  const server = await startTestServer({ PRIVATE_UPSTREAMS: 'on', SMTP_URL: mail.url, MAIL_FROM: 'admin@example.com' });
  const ann = await keyOfSomebody(server.store, 'ann');
  const deciding = startPeriodicTask(
    async () => {
      const { data } = await mustCall(server, ann, 'list_approvals', { status: 'waiting' });
      for (const { id } of data) await mustCall(server, ann, 'decide_approval', { id, decision: 'approve' });
    },
    (cause) => console.error(cause),
    500,
  );
  return {
    env: { BASE_URL: server.baseUrl, API_KEY: server.adminKey, GITHUB_TOKEN: 'ghp_...' },
    addresses: { 'https://api.github.com': github, 'https://hooks.slack.com': new URL(slack.url).origin },
    async close() {
      await deciding.close();
      await server.close();
      slack.stop();
      assert.equal(slack.received.length, 1);
      assert.equal(mail.mails.length, 1);
      await mail.close();
    },
  };
}

async function surroundings(): Promise<GuideWorld> {
  const PORT = String(await freePort());
  const BASE_URL = `http://127.0.0.1:${PORT}`;
  const env = { PORT, BASE_URL, API_KEY: KEY, BOOTSTRAP_API_KEY: KEY, LOG_LEVEL: 'warn' };
  return { env, addresses: {}, close: async () => {} };
}

function withMore(
  base: GuideWorld,
  { env, addresses, close = async () => {} }: Pick<GuideWorld, 'env' | 'addresses'> & Partial<GuideWorld>,
): GuideWorld {
  return {
    env: { ...base.env, ...env },
    addresses,
    async close() {
      await base.close();
      await close();
    },
  };
}
