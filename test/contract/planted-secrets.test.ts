// alone: it starts servers whose environment is planted with secrets
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { callsOf } from '../support/calls.ts';
import { type AllowedPlace, Canaries } from '../support/canaries.ts';
import { runFile } from '../support/child.ts';
import { FULL, rounds } from '../support/full.ts';
import { answerListeners, type WireAnswer, type WireRequest } from '../support/http.ts';
import { databaseOf, onPostgres } from '../support/store.ts';
import { until } from '../support/until.ts';
import { workspaceOf } from './fuzz-workspace.ts';
import { plantAccounts } from './planted-accounts.ts';
import { openPages } from './planted-pages.ts';
import * as planted from './planted-secrets.ts';
import { type PlantedServer, startPlantedServer } from './planted-server.ts';

const KEPT = /^(?:file|backup) (?!doctor)|^file of export|^table /;

/** The only places in which a secret may be. Each is seen by the search: so it finds what is there. */
const ALLOWED: readonly AllowedPlace[] = [
  {
    secret: /^(?:key of Claude Desktop|first sign-in link)$/,
    place: /^(?:what the first start prints|output and log)$/,
    because: 'the operator has no other way in',
  },
  { secret: /^new API key$/, place: /^answer of POST \S+ create_api_key \(200\)$/, because: 'shown once' },
  { secret: /^rotated API key$/, place: /^answer of POST \S+ rotate_api_key \(200\)$/, because: 'shown once' },
  {
    secret: /^new capsule token$/,
    place: /^answer of POST (?:\/api\/capsules \(201\)|\S+ create_capsule \(200\))$/,
    because: 'shown once',
  },
  {
    secret: /^rotated capsule token$/,
    place: /^answer of POST \S+ rotate_capsule_token \(200\)$/,
    because: 'shown once',
  },
  { secret: /^new client secret$/, place: /^answer of POST \S+ create_oauth_client \(200\)$/, because: 'shown once' },
  { secret: /^new webhook secret$/, place: /^answer of POST \S+ create_webhook \(200\)$/, because: 'shown once' },
  {
    secret: /^rotated webhook secret$/,
    place: /^answer of POST \S+ rotate_webhook_secret \(200\)$/,
    because: 'shown once',
  },
  { secret: /^(?:sign-in link|ID token)$/, place: /^answer of POST \S+ create_sign_in_link/, because: 'shown once' },
  {
    secret: /^mailed sign-in link$/,
    place: /^answer of GET \/sign-in\/link \(200\)$/,
    because: 'the page confirms what the link began',
  },
  { secret: /cookie/, place: /^header set-cookie of /, because: 'the browser keeps it' },
  {
    secret: /^code of /,
    place: /^(?:header location|answer) of GET \/oauth\/authorize\/\{id\} \(303\)$/,
    because: 'the browser brings it to the app',
  },
  {
    secret: /^(?:access|refresh) token$/,
    place: /^answer of POST \/oauth\/token \(200\)$/,
    because: 'given to the app',
  },
  {
    secret: /^(?:phone|card) of an agent$/,
    place: KEPT,
    because: 'a reference to a card and a number are data, masked in answers; the disk protects them',
  },
  {
    secret: /^query of a webhook$/,
    place: /(?:webhook|^output of export-audit)|^(?:file|backup|table)/,
    because: 'an address is shown to those who may read the webhook; a token in it is documented as visible',
  },
  {
    secret: /^argument of a program$/,
    place: /integration|audit|^output of tool$|^(?:file|backup|table)/,
    because:
      'the arguments of a program are shown to those who may read the integration; a secret belongs into its environment',
  },
  {
    secret: /^key in a wrong place$/,
    place: /^(?:answer|header set-cookie) of /,
    because: 'the caller is told what was sent',
  },
];

const canaries = new Canaries();
let server: PlantedServer;

/** `POST /api/v1/mcp create_agent`: method, path without ids, and the tool. */
function placeOf(url: string, { method = 'GET', body }: WireRequest): string {
  const { pathname } = new URL(url);
  const path = pathname
    .replace(/\/[a-z]{3}_[0-9a-z]{26}\b/g, '/{id}')
    .replace(/\/oauth\/(authorize|consent)\/[\w-]{20,}/, '/oauth/$1/{id}');
  const tool = /"method":"tools\/call","params":\{"name":"(\w+)"/.exec(String(body ?? ''))?.[1];
  return [method, path.slice(0, 80), tool].filter(Boolean).join(' ');
}

function listen(url: string, asked: WireRequest, { status, headers, text }: WireAnswer): void {
  if (!url.startsWith(server.baseUrl)) return;
  const place = placeOf(url, asked);
  for (const [name, value] of headers) answers.push([`header ${name} of ${place} (${status})`, value]);
  answers.push([`answer of ${place} (${status})`, text]);
}

/** They are looked through at the end: a secret may be in an answer that came before its name was known. */
const answers: [place: string, text: string][] = [];

function lookInFiles(folder: string, name: string): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) canaries.look(`${name} ${entry.name}`, readFileSync(join(entry.parentPath, entry.name)));
  }
}

async function lookInTables(): Promise<void> {
  const client = new pg.Client({ connectionString: await databaseOf(server.folder) });
  await client.connect();
  const names = `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname !~ '^(pg_|information_)'`;
  for (const { name } of (await client.query<{ name: string }>(names)).rows) {
    const { rows } = await client.query<{ row: string }>(`select held::text as row from ${name} as held`);
    canaries.look(`table ${name}`, rows.map(({ row }) => row).join('\n'));
  }
  await client.end();
}

/** A command, as an operator runs it; `code`: with which it ends. */
async function lookInCommand(name: string, args: readonly string[] = [], code = 0): Promise<void> {
  const { baseUrl, adminKey, env } = server;
  const told = { ...env, BASE_URL: baseUrl, API_KEY: adminKey };
  const ended = await runFile(`facade/commands/${name}.ts`, { args, env: told });
  assert.equal(ended.code, code, `${name} ${args.join(' ')}: ${ended.stderr}${ended.stdout}`);
  canaries.look(`output of ${name}`, ended.stdout + ended.stderr);
}

async function lookInCommands(): Promise<void> {
  const { folder } = server;
  await lookInCommand('doctor');
  await lookInCommand('export-audit');
  await lookInCommand('tool', ['list_integrations']);
  await lookInCommand('tool', ['no_such_tool', '{"x"'], 1);
  if (onPostgres) return;
  await lookInCommand('backup', [`${folder}-copy`]);
  lookInFiles(`${folder}-copy`, 'backup');
  lookInFiles(`${folder}-backups`, 'backup');
}

/** Of a database it is refused while a server changes it, as one does by itself. */
async function lookInExport(): Promise<void> {
  const file = `${server.folder}.export`;
  await lookInCommand('export', [file]);
  canaries.look('file of export', readFileSync(file));
}

/** Starts that fail, each with one variable that is wrong. */
async function lookInFailedStarts(): Promise<void> {
  const password = canaries.plant('password in a wrong variable', 'planted-wrong-0815-variable');
  const wrong: Record<string, string>[] = [
    { PORT: 'x' },
    { MODEL_BASE_URL: `http://user:${password}@127.0.0.1/` },
    { OIDC_ISSUER: `https://user:${password}@127.0.0.1/` },
    { OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:${password}@127.0.0.1/` },
    { SMTP_URL: `imap://user:${password}@127.0.0.1/` },
    { DATABASE_URL: `mysql://user:${password}@127.0.0.1/` },
    { DATABASE_URL: `postgres://user:${password}@127.0.0.1:9/none` },
    { SECRETS_KEY: password, DATABASE_URL: `postgres://user:${password}@127.0.0.1:9/none?sslmode=${password}` },
    { BOOTSTRAP_API_KEY: password },
    { SESSION_SECRET: `${password},short` },
    { BASE_URL: `http://user:${password}@127.0.0.1/` },
  ];
  for (const variables of FULL ? wrong : wrong.filter((_, at) => at % 4 === 2)) {
    const { code, stdout, stderr } = await runFile('facade/main.ts', {
      env: { ...server.env, DATA_DIR: `${server.folder}.none`, DATABASE_WAIT_SECONDS: '1', ...variables },
    });
    assert.notEqual(code, 0, Object.keys(variables).join());
    canaries.look(`failed start: ${Object.keys(variables)}`, stdout + stderr);
  }
}

describe('planted secrets', () => {
  before(async () => {
    server = await startPlantedServer(canaries);
    answerListeners.add(listen);
  });
  after(() => answerListeners.delete(listen));

  it('are in no answer, page, log line, trace, table, file, backup or export but where the table allows them', async () => {
    const workspace = workspaceOf(server);
    await workspace.begin();
    const made = await planted.plantCredentials(server, canaries);
    const given = await planted.plantGiven(server, canaries);
    await planted.hearEchoes(server, given.agent.id);
    await plantAccounts(server, canaries);
    const cookie = await planted.signInEverywhere(server, made.confidential, canaries);
    await planted.usePasskey(server, canaries);
    const misplaced = await planted.misplace(server, canaries, rounds(20, 1000));
    await openPages(server, cookie, made.confidential);
    const idOf = (placeholder: string) => workspace.pool.ids.get(placeholder.slice(0, 3))?.[0] ?? placeholder;
    const keys = FULL ? [server.adminKey, made.key] : [server.adminKey];
    const calls = await planted.callEverything(server, { keys, capsule: made.capsule, idOf });
    const { must } = callsOf(server);
    if (!onPostgres) await must('create_backup');
    await until(() => server.far.collector.metrics.length > 0 && server.far.collector.spans.length > 100);
    await lookInCommands();
    if (!onPostgres) await lookInExport();
    await lookInFailedStarts();
    await server.process.stop('SIGTERM');
    if (onPostgres) await lookInExport();
    for (const [place, text] of answers) canaries.look(place, text);
    canaries.look('output and log', server.process.said());
    canaries.look('traces and metrics', server.far.collector.received());
    lookInFiles(server.folder, 'file');
    if (onPostgres) await lookInTables();
    assert.ok(
      calls > 600 && misplaced > 15 && canaries.names.length > 40,
      `${calls} calls, ${misplaced} places, ${canaries.names}`,
    );
    assert.deepEqual(canaries.leaks(ALLOWED), []);
    assert.deepEqual(canaries.unseen(ALLOWED), []);
  });
});
