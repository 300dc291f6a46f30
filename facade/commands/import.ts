import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Issue } from '../../resources/error.ts';
import { importedRows, type RowType, rowType } from '../../resources/imported-rows.ts';
import { OperatorError } from '../../store/errors.ts';
import { checkRow } from '../../tools/analytics/import-records.ts';
import { howToRun } from '../config/how-to-run.ts';
import { type ClientConfig, readClientConfig } from './client-config.ts';
import { columnsFor } from './import/columns.ts';
import { importDocuments } from './import/documents.ts';
import { ProgressLine, type ReadLine, readRows } from './import/file.ts';
import type { CsvRow } from './import/presets.ts';
import { type MappedRow, presets } from './import/presets.ts';
import { readArguments, runCommand } from './run-command.ts';
import { callServer } from './server-call.ts';

const USAGE = `Usage: ${howToRun('import')} <type> <file.csv|file.ndjson|file.parquet> [--map <columns>] [--dry-run]
       ${howToRun('import')} documents <folder> [--project <id>] [--tags <a,b>] [--as <name>] [--also <yaml,py>]
           [--delete-removed] [--dry-run]

Loads rows into the running server; rows that are there already change nothing, so a file may be imported again.
Types: ${Object.keys(importedRows).join(', ')}.
CSV: the first line names the columns; empty cells are left out; \`properties\` is JSON. NDJSON: one JSON object a line.
--map: where columns have other names than members, as member=column,member=column, or the export of another system:
${Object.entries(presets)
  .map(([name, { type, about }]) => `  ${name.padEnd(22)}${type}: ${about}`)
  .join('\n')}
--dry-run: says what would be new, changed and refused, and changes nothing.

documents: makes a document of each PDF, DOCX, HTML, Markdown, text and CSV file below the folder; again, only of those that changed.
--project, --tags: where new documents belong. --as: the name of the folder in the documents, by which they are found again.
--also: endings of further files that are text, such as \`--also yaml,py\`; others are left out and named.
--delete-removed: deletes the documents of files that are no longer there; without it they are listed.
Environment: API_KEY (required; scope write, for rows scope admin or grant user:import), BASE_URL (default http://127.0.0.1:3000).`;

const BATCH_ROWS = 10_000;
const BATCH_BYTES = 3_000_000;
const MOST_SHOWN = 100;
const WAIT_MS = 2000;

interface Sum {
  created: number;
  updated: number;
  unchanged: number;
  refused: number;
}

interface Row {
  readonly line: number;
  readonly row: Readonly<Record<string, unknown>>;
}

/** Sends the file in batches and reports lines that do not fit. Returns 0 when every line was accepted. */
async function main(): Promise<number> {
  const options = {
    map: { type: 'string' },
    'dry-run': { type: 'boolean' },
    project: { type: 'string' },
    tags: { type: 'string' },
    as: { type: 'string' },
    also: { type: 'string' },
    'delete-removed': { type: 'boolean' },
  } as const;
  const { values, words } = readArguments(USAGE, options, [0, 3]);
  const [type, file, ...rest] = words;
  if (type === 'documents' && rest.length === 0) {
    if (file === undefined) throw new OperatorError(`Name the folder: ${howToRun('import')} documents <folder>`);
    return importDocuments({
      folder: file,
      client: readClientConfig(process.env),
      projectId: values.project,
      tags: listIn(values.tags),
      as: values.as,
      also: listIn(values.also) ?? [],
      deleteRemoved: values['delete-removed'] === true,
      dryRun: values['dry-run'] === true,
    });
  }
  const known = rowType.safeParse(type).data;
  if (known === undefined || file === undefined || rest.length > 0) {
    console.error(type !== undefined && known === undefined ? `There is no type "${type}".\n\n${USAGE}` : USAGE);
    return 2;
  }
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new OperatorError(`There is no file ${file}.`);
  const columns = columnsFor(known, values.map);
  const dryRun = values['dry-run'] === true;
  const run = new ImportRun({ type: known, client: readClientConfig(process.env), fileBytes: size, columns, dryRun });
  for await (const read of readRows(file)) await run.take(read);
  return run.finish();
}

function listIn(text: string | undefined): string[] | undefined {
  return text?.split(',').map((part) => part.trim());
}

interface ImportOptions {
  readonly type: RowType;
  readonly client: ClientConfig;
  readonly fileBytes: number;
  readonly columns: (cells: CsvRow) => MappedRow;
  readonly dryRun: boolean;
}

class ImportRun {
  readonly #options: ImportOptions;
  readonly #progress: ProgressLine;
  readonly #sum: Sum = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  readonly #leftOut = new Map<string, number>();
  #batch: Row[] = [];
  #bytes = 0;
  /** The batch that the server has. The next one is read meanwhile. */
  #sending: Promise<void> = Promise.resolve();

  constructor(options: ImportOptions) {
    this.#options = options;
    this.#progress = new ProgressLine(options.fileBytes, process.stderr);
  }

  async take(read: ReadLine): Promise<void> {
    this.#progress.show(read.bytes, this.#done());
    if ('problem' in read) return this.#refuse(read.line, [read.problem]);
    const mapped = this.#options.columns(read.row);
    if ('problem' in mapped) return this.#refuse(read.line, [mapped.problem]);
    if ('leftOut' in mapped) return this.#leaveOut(mapped.leftOut);
    const checked = checkRow(this.#options.type, mapped.row);
    if ('issues' in checked) return this.#refuse(read.line, checked.issues.map(describe));
    const size = Buffer.byteLength(JSON.stringify(checked.row));
    if (this.#batch.length === BATCH_ROWS || this.#bytes + size > BATCH_BYTES) await this.#next();
    this.#batch.push({ line: read.line, row: checked.row });
    this.#bytes += size;
  }

  async finish(): Promise<number> {
    await this.#next();
    await this.#sending;
    this.#progress.end();
    const { created, updated, unchanged, refused } = this.#sum;
    if (refused > MOST_SHOWN) console.error(`... and ${refused - MOST_SHOWN} more lines.`);
    const leftOut = [...this.#leftOut].map(([reason, rows]) => `, ${rows} left out (${reason})`).join('');
    const head = `${this.#options.dryRun ? 'would be ' : ''}${this.#options.type}`;
    console.log(`${head}: ${created} new, ${updated} changed, ${unchanged} unchanged, ${refused} refused${leftOut}.`);
    return refused > 0 ? 1 : 0;
  }

  async #next(): Promise<void> {
    await this.#sending;
    const batch = this.#batch.splice(0);
    this.#bytes = 0;
    this.#sending = this.#send(batch);
    // What goes wrong shows where it is awaited.
    this.#sending.catch(() => {});
  }

  #leaveOut(reason: string): void {
    this.#leftOut.set(reason, (this.#leftOut.get(reason) ?? 0) + 1);
  }

  #done(): number {
    return this.#sum.created + this.#sum.updated + this.#sum.unchanged;
  }

  async #send(batch: readonly Row[]): Promise<void> {
    if (batch.length === 0) return;
    const { client, type, dryRun } = this.#options;
    const input = { type, records: batch.map(({ row }) => row), ...(dryRun && { dryRun }) };
    const answer = await callServer(client, 'import_records', input);
    if ('output' in answer) {
      const output = answer.output as Omit<Sum, 'refused'>; // an answer of our own server
      for (const name of ['created', 'updated', 'unchanged'] as const) this.#sum[name] += output[name];
      return;
    }
    if ('failure' in answer && answer.failure.code === 'rate_limited') {
      await delay(WAIT_MS);
      return this.#send(batch);
    }
    const { error, issues = [] } = 'failure' in answer ? answer.failure : { error: answer.refusal };
    const bad = linesOf(issues, batch);
    if (bad.size === 0) {
      this.#progress.end();
      throw new OperatorError(`The server refused lines ${batch[0]?.line} to ${batch.at(-1)?.line}: ${error}`);
    }
    // The server may have other rules than this command. It named the rows that it refuses; the others are sent again.
    for (const [line, reasons] of bad) this.#refuse(line, reasons);
    await this.#send(batch.filter(({ line }) => !bad.has(line)));
  }

  #refuse(line: number, reasons: readonly string[]): void {
    this.#sum.refused += 1;
    if (this.#sum.refused > MOST_SHOWN) return;
    this.#progress.end();
    console.error(`line ${line}: ${reasons.join('; ')}`);
  }
}

function describe({ path, message }: Issue): string {
  return path ? `${path}: ${message}` : message;
}

function linesOf(issues: readonly Issue[], batch: readonly Row[]): Map<number, string[]> {
  const lines = new Map<number, string[]>();
  for (const { path, message } of issues) {
    const [, index, member] = /^records\[(\d+)\](?:\.(.*))?$/.exec(path) ?? [];
    const line = index === undefined ? undefined : batch[Number(index)]?.line;
    if (line === undefined) continue;
    lines.set(line, [...(lines.get(line) ?? []), describe({ path: member ?? '', message })]);
  }
  return lines;
}

runCommand(main);
