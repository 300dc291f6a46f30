import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { documentOf } from './openapi-document.ts';

const redocly = join(dirname(createRequire(import.meta.url).resolve('@redocly/cli/package.json')), 'bin/cli.js');

/** What Redocly's recommended rules find, as `severity rule place`. Warnings count: there is none worth keeping. */
async function lint(document: object): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-lint-'));
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(document));
    const { problems } = JSON.parse(
      await run(folder, 'lint', 'openapi.json', '--extends=recommended', '--format=json'),
    );
    return problems.map(({ severity, ruleId, message, location }: Problem) =>
      [severity, ruleId, location[0]?.pointer, message].join(' '),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Problem {
  readonly severity: string;
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

function run(cwd: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NODE_OPTIONS: '' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [redocly, ...args], { cwd, env }, (error, stdout) => {
      if (stdout === '') reject(error ?? new Error('The linter said nothing.'));
      else resolve(stdout);
    });
  });
}

describe('Redocly', () => {
  it('finds nothing wrong with the document', async () => {
    assert.deepEqual(await lint(documentOf()), []);
  });

  it('finds an example that does not fit and a reference that leads nowhere', async () => {
    const document = documentOf();
    const media = document.paths['/api/v1/agents']?.post?.requestBody?.content['application/json'] ?? assert.fail();
    Object.assign(media, { example: { name: 1 } });
    delete document.components.responses?.Forbidden;
    const problems = (await lint(document)).join('\n');
    assert.match(problems, /no-invalid-media-type-examples/);
    assert.match(problems, /no-unresolved-refs/);
  });
});
