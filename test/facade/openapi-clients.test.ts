import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { rest } from '../support/calls.ts';
import { judgeProgram, judgesLack, placeOf } from '../support/judges.ts';
import { serverForTests } from '../support/server.ts';

/** A generator of clients: its arguments in a folder with openapi.json, what it writes, and what makes its calls the same as those of others. */
interface Generator {
  readonly args: readonly string[];
  readonly written: string;
  /** Defines `create`, `list`, `get`, `update`, `remove`: each resolves with `{status, data, error}`. */
  readonly calls: string;
}

const GENERATORS: Readonly<Record<string, Generator>> = {
  // Functions with their own client.
  '@hey-api/openapi-ts': {
    args: ['-i', 'openapi.json', '-o', 'client', '--no-log-file'],
    written: 'client/sdk.gen.ts',
    calls: `
      import { createSkill, deleteSkill, getSkill, listSkills, updateSkill } from './client/index.js';
      import { client } from './client/client.gen.js';
      client.setConfig({ baseUrl, auth: key });
      const said = async <D, E>(asked: Promise<{ data?: D; error?: E; response?: Response }>) => {
        const { data, error, response } = await asked;
        return { status: response?.status, data, error };
      };
      const create = (name: string, expectedName = name) => said(createSkill({ body: { name: expectedName } }));
      const list = (limit: number, cursor?: string) => said(listSkills({ query: { limit, ...(cursor && { cursor }) } }));
      const get = (id: string) => said(getSkill({ path: { id } }));
      const update = (id: string, expectedRevision: number) =>
        said(updateSkill({ path: { id }, body: { description: 'new', expectedRevision } }));
      const remove = (id: string) => said(deleteSkill({ path: { id } }));
    `,
  },
  // One class from templates; what is no success is thrown.
  'swagger-typescript-api': {
    args: ['generate', '-p', 'openapi.json', '-o', 'client', '-n', 'api.ts', '--silent'],
    written: 'client/api.ts',
    calls: `
      import { Api, type HttpResponse } from './client/api.js';
      const { api } = new Api({ baseUrl, baseApiParams: { headers: { Authorization: 'Bearer ' + key } } });
      const said = async <D, E>(asked: Promise<HttpResponse<D, E>>) => {
        const { status, data, error } = await asked.catch((thrown: HttpResponse<D, E>) => thrown);
        return { status, data: data as D | undefined, error: error as E | undefined };
      };
      const create = (name: string) => said(api.createSkill({ name }));
      const list = (limit: number, cursor?: string) => said(api.listSkills({ limit, ...(cursor && { cursor }) }));
      const get = (id: string) => said(api.getSkill(id));
      const update = (id: string, expectedRevision: number) =>
        said(api.updateSkill(id, { description: 'new', expectedRevision }));
      const remove = (id: string) => said(api.deleteSkill(id));
    `,
  },
};

/** The life of a record by any of the clients; what compiles shows that members and errors are typed. */
const LIFE = `
  const asked = await create('one');
  if (!asked.data || 'code' in asked.data) throw new Error('It asks a person first.');
  const made = { status: asked.status, data: asked.data };
  await create('two');
  const id: string = made.data.id;
  const first = await list(1);
  const cursor: string | null | undefined = first.data?.nextCursor;
  const second = await list(1, cursor ?? undefined);
  const changed = await update(id, made.data.revision);
  const stale = await update(id, made.data.revision);
  const current: number | undefined = stale.error?.currentRevision;
  const read = await get(id);
  const removed = await remove(id);
  const gone = await get(id);
  const refused = await create('');
  const place: string | undefined = refused.error?.issues?.[0]?.path;
  const names = [...(first.data?.data ?? []), ...(second.data?.data ?? [])].map(({ name }) => name).sort();
  console.log(JSON.stringify({
    statuses: [made, changed, stale, read, removed, gone, refused].map(({ status }) => status),
    description: read.data?.description, current, code: gone.error?.code, place, names,
  }));
`;

const OPTIONS = ['--module', 'nodenext', '--target', 'es2023', '--lib', 'es2023,dom,dom.iterable', '--strict'];
const server = serverForTests();

for (const [name, { args, written, calls }] of Object.entries(GENERATORS)) {
  describe(`a client of ${name}`, { skip: judgesLack(name, 'typescript') ?? false }, () => {
    it('is made of the served document, compiles, and does what it is typed to do', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'openapi-clients-'));
      try {
        const { body } = await rest(server, 'GET', '/api/v1/openapi', { key: server.adminKey });
        await symlink(placeOf(), join(folder, 'node_modules'));
        await writeFile(join(folder, 'package.json'), '{"type":"module"}');
        await writeFile(join(folder, 'openapi.json'), JSON.stringify(body));
        await start(folder, {}, judgeProgram(name), ...args);
        const made = join(folder, written);
        await writeFile(made, (await readFile(made, 'utf8')).replace('// @ts-nocheck', ''));
        const env =
          'declare const process: { env: Record<string, string> }; const { BASE_URL: baseUrl, API_KEY: key } = process.env;';
        await writeFile(join(folder, 'program.ts'), `${env}${calls}${LIFE}`);
        const compiler = judgeProgram('typescript', 'tsc');
        await start(folder, {}, compiler, ...OPTIONS, '--skipLibCheck', '--outDir', 'out', 'program.ts');
        const said = await start(folder, { BASE_URL: server.baseUrl, API_KEY: server.adminKey }, 'out/program.js');
        assert.deepEqual(JSON.parse(said), {
          statuses: [201, 200, 409, 200, 204, 404, 400],
          description: 'new',
          current: 2,
          code: 'not_found',
          place: 'name',
          names: ['one', 'two'],
        });
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  });
}

/** What it prints. @throws what it says where it fails */
function start(cwd: string, extra: Record<string, string>, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, NODE_OPTIONS: '', ...extra };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd, env }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}
