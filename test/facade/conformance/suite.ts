import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, request as forward } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { withFolder } from '../../support/child.ts';
import { onLoopback } from '../../support/loopback.ts';
import { nodeArgs } from '../../support/node-args.ts';

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

const suite = dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'));

export interface Scenario {
  readonly name: string;
  /** Whether the revision requires it; others are run for the report. */
  readonly scored: boolean;
}

/** The scenarios for servers, or for clients, that belong to a revision, as the suite lists them. */
export function readRequirements(revision: string, leg: 'server' | 'client' = 'server'): Scenario[] {
  const listing = readFileSync(join(suite, `requirements/${revision}.yaml`), 'utf8');
  const [, listed = ''] = new RegExp(`^${leg}:\\n((?: {2}- .+\\n)+)`, 'm').exec(listing) ?? [];
  const others = listing.matchAll(new RegExp(`- scenario: (\\S+)\\n +leg: ${leg}\\n`, 'g'));
  return [
    ...Array.from(listed.matchAll(/- (\S+)\n/g), ([, name = '']) => ({ name, scored: true })),
    ...Array.from(others, ([, name = '']) => ({ name, scored: false })),
  ];
}

/** Runs the command of the official suite for what a revision requires of servers; the checks by scenario. */
export function runSuite(url: string, revision: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  return runServerSuite(url, ['--requirements', revision]);
}

/** The same for all that the suite knows of a revision for which it has no list of requirements. */
export function runScenarios(url: string, revision: string): Promise<ReadonlyMap<string, readonly Check[]>> {
  return runServerSuite(url, ['--suite', 'all', '--spec-version', revision]);
}

function runServerSuite(url: string, which: readonly string[]): Promise<ReadonlyMap<string, readonly Check[]>> {
  return withFolder(async (folder) => {
    const printed = await run(['server', '--url', url, ...which, '--output-dir', folder]);
    return checksIn(folder, printed, 'server-');
  });
}

/** The scenarios for servers that the suite applies to a revision. */
export async function listScenarios(revision: string): Promise<string[]> {
  const printed = await run(['list', '--server', '--spec-version', revision]);
  return Array.from(printed.matchAll(/^ *- (\S+) \[/gm), ([, name = '']) => name);
}

/** Only for what would never end: scenarios wait for each other. */
const CLIENT_MS = '240000';

/** What a scenario for clients gives to the client. */
export interface ClientTask {
  readonly scenario: string;
  /** The server of the scenario. */
  readonly url: string;
  /** What only this scenario has, such as the client that it knows. */
  readonly context: {
    readonly client_id?: string;
    readonly client_secret?: string;
    readonly issuer?: string;
    readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[];
  };
}

/** Runs the scenarios for clients that a revision lists, all at a time; `connect` is the client. The checks by scenario. */
export async function runClientSuite(
  revision: string,
  connect: (task: ClientTask) => Promise<void>,
): Promise<ReadonlyMap<string, readonly Check[]>> {
  const tasks = createServer(async (request, response) => {
    const task = JSON.parse(await text(request));
    const failure = await connect(task).then(
      () => '',
      (error: Error) => String(error.stack),
    );
    response.writeHead(failure === '' ? 200 : 500).end(failure);
  });
  const { url, close } = await onLoopback(tasks);
  const command = [process.execPath, ...nodeArgs(fileURLToPath(new URL('./client.ts', import.meta.url)))].join(' ');
  const found = await withFolder(async (folder) => {
    const args = [
      'client',
      '--command',
      command,
      '--requirements',
      revision,
      '--output-dir',
      folder,
      '--timeout',
      CLIENT_MS,
    ];
    return checksIn(folder, await run(args, () => {}, { CONFORMANCE_TASKS: url }), '');
  });
  await close();
  return found;
}

/** The checks of each scenario that the suite left in the folder. */
async function checksIn(folder: string, printed: string, prefix: string) {
  const found = new Map<string, readonly Check[]>();
  for (const path of await readdir(folder, { recursive: true })) {
    const [, scenario] = new RegExp(`^${prefix}(.+)-\\d{4}-\\d\\d-\\d\\dT[\\d-]+Z/checks.json$`).exec(path) ?? [];
    if (scenario !== undefined) found.set(scenario, JSON.parse(await readFile(join(folder, path), 'utf8')));
  }
  if (found.size === 0) throw new Error(`The suite ran nothing: ${printed}`);
  return found;
}

/** An authorization server that the suite tries, and a client that it knows. */
export interface AuthorizationServer {
  readonly url: string;
  readonly clientId: string;
  /** The client is sent back to `http://127.0.0.1:<port>/callback`. */
  readonly port: number;
  readonly resource: string;
}

/** Runs the scenarios for authorization servers; `agree` does with the address that the suite shows what a person would. */
export async function runAuthorizationSuite(
  { url, clientId, port, resource }: AuthorizationServer,
  agree: (url: string) => Promise<unknown>,
): Promise<readonly Check[]> {
  return withFolder(async (folder) => {
    const about = ['--url', url, '--client-id', clientId, '--port', String(port), '--resource', resource];
    let asked: Promise<unknown> | undefined;
    const printed = await run(['authorization', ...about, '--output-dir', folder], (soFar) => {
      const shown = /^https?:\S+\/authorize\?\S+$/m.exec(soFar)?.[0];
      if (shown) asked ??= agree(shown);
    });
    await asked;
    const found: Check[] = [];
    for (const name of await readdir(folder, { recursive: true })) {
      if (name.endsWith('checks.json')) found.push(...JSON.parse(await readFile(join(folder, name), 'utf8')));
    }
    if (found.length === 0) throw new Error(`The suite ran nothing: ${printed}`);
    return found;
  });
}

function run(
  args: readonly string[],
  onPrinted: (printed: string) => void = () => {},
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const command = join(suite, 'dist/index.js');
  const hook = nodeArgs(fileURLToPath(new URL('./node-20.ts', import.meta.url)));
  const loaded = [...hook.slice(0, -1), '--import', ...hook.slice(-1)];
  const child = spawn(process.execPath, [...loaded, command, ...args], { env: { ...process.env, ...env } });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      printed += chunk;
      onPrinted(printed);
    });
  }
  return new Promise((resolve) => child.once('close', () => resolve(printed)));
}

export interface Proxy {
  readonly url: string;
  /** The revisions that requests named in their header. */
  readonly revisions: ReadonlySet<string>;
  close(): Promise<void>;
}

/**
 * Hands requests on with a credential, which the suite cannot send itself, and with everything else as it is. With a revision, the suite's
 * client, which always asks for the last one with sessions, asks for that one instead.
 */
export async function startProxy(target: string, token: string, revision?: string): Promise<Proxy> {
  const { port, pathname } = new URL(target);
  const revisions = new Set<string>();
  const server = createServer(async (incoming, response) => {
    const named = incoming.headers['mcp-protocol-version'];
    const body = await buffer(incoming);
    const sent = revision === undefined ? body : askingFor(revision, body);
    // A client names a revision once it is agreed on.
    if (sent === body && named !== undefined) revisions.add(String(named));
    const { 'content-length': _, 'transfer-encoding': __, ...own } = incoming.headers;
    const length = incoming.method === 'POST' ? { 'content-length': sent.length } : {};
    const headers = { ...own, ...length, authorization: `Bearer ${token}` };
    // Without this a Host of ours could take the place of the one that a scenario sends.
    const options = { port, path: pathname, method: incoming.method, headers, setHost: false };
    const outgoing = forward({ host: '127.0.0.1', ...options }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    outgoing.end(sent);
  });
  const { url, close } = await onLoopback(server);
  return { url: `${url}/mcp`, revisions, close };
}

/** The body, in which `initialize` asks for the revision. */
function askingFor(revision: string, body: Buffer): Buffer {
  const message = body.includes('"initialize"') ? JSON.parse(body.toString()) : {};
  if (message.method !== 'initialize') return body;
  message.params.protocolVersion = revision;
  return Buffer.from(JSON.stringify(message));
}
