import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { judgeModule, judgeProgram } from '../support/judges.ts';
import { type Document, refsIn } from './openapi-document.ts';

/** What others find wrong with a document, one line each. Warnings count: there is none worth keeping. */
export type DocumentJudge = (document: Document) => Promise<string[]>;

const RULES = fileURLToPath(new URL('../judges/spectral.yaml', import.meta.url));

export const documentJudges: Readonly<Record<string, DocumentJudge>> = {
  '@redocly/cli': (document) =>
    withFile('openapi.json', document, async (folder) => {
      const args = ['lint', 'openapi.json', '--extends=recommended', '--format=json'];
      const { problems } = JSON.parse(await run(folder, judgeProgram('@redocly/cli', 'redocly'), ...args));
      return problems.map(({ ruleId, message, location }: RedoclyProblem) =>
        [ruleId, location[0]?.pointer, message].join(' '),
      );
    }),
  // Once as it is, and once as what callers send alone, of which more is asked: limits.
  '@stoplight/spectral-cli': async (document) => {
    const passes = { 'answers.json': document, 'inputs.json': withoutAnswers(document) };
    const found = Object.entries(passes).map(([name, given]) => withFile(name, given, spectral));
    return (await Promise.all(found)).flat();
  },
  // The schema of OpenAPI itself, and references.
  '@seriousme/openapi-schema-validator': async (document) => {
    const { Validator } = await import(judgeModule('@seriousme/openapi-schema-validator'));
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    return valid ? [] : [JSON.stringify(errors)];
  },
};

async function spectral(folder: string, name: string): Promise<string[]> {
  const program = judgeProgram('@stoplight/spectral-cli');
  await run(folder, program, 'lint', name, '-r', RULES, '-f', 'json', '-q', '-o', 'found.json');
  const found: readonly SpectralProblem[] = JSON.parse(await readFile(join(folder, 'found.json'), 'utf8'));
  return found.map(({ code, path, message }) => [code, path.join('/'), message].join(' '));
}

interface RedoclyProblem {
  readonly ruleId: string;
  readonly message: string;
  readonly location: readonly { readonly pointer: string }[];
}

interface SpectralProblem {
  readonly code: string;
  readonly path: readonly string[];
  readonly message: string;
}

/** The document with answers that can be anything, and without the schemas that were theirs alone. */
function withoutAnswers(document: Document): Document {
  const opened = openAnswers(document) as Document; // its schemas alone are others
  const { schemas = {} } = opened.components;
  const used = new Set(refsIn(opened.paths));
  for (const ref of used) for (const inner of refsIn(schemas[ref.replace(/.*\//, '')])) used.add(inner);
  const kept = Object.entries(schemas).filter(([name]) => used.has(`#/components/schemas/${name}`));
  return { ...opened, components: { ...opened.components, schemas: Object.fromEntries(kept) } };
}

function openAnswers(value: unknown, inAnswer = false): unknown {
  if (Array.isArray(value)) return value.map((item) => openAnswers(item, inAnswer));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      name,
      inAnswer && name === 'schema' ? {} : openAnswers(item, inAnswer || name === 'responses' || name === 'headers'),
    ]),
  );
}

async function withFile<T>(name: string, document: object, use: (folder: string, name: string) => Promise<T>) {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-judges-'));
  try {
    await writeFile(join(folder, name), JSON.stringify(document));
    return await use(folder, name);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** What it prints; judges that find something end with a code that says so. */
function run(cwd: string, ...args: readonly string[]): Promise<string> {
  const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', SCARF_ANALYTICS: 'false' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd, env: { ...process.env, ...quiet, NODE_OPTIONS: '' } }, (error, stdout) => {
      if (error && typeof error.code !== 'number') reject(error);
      else resolve(stdout);
    });
  });
}
