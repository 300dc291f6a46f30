import { statSync } from 'node:fs';
import type { Issue } from '../../resources/error.ts';
import { importedRows, type RowType, rowType } from '../../resources/imported-rows.ts';
import { OperatorError } from '../../store/errors.ts';
import { checkRow } from '../../tools/analytics/import-records.ts';
import { type ClientConfig, readClientConfig } from './client-config.ts';
import { explainExit } from './explain-exit.ts';
import { howToRun } from './how-to-run.ts';
import { type ReadLine, readRows } from './import-file.ts';
import { ProgressLine } from './import-progress.ts';
import { callServer } from './server-call.ts';

const USAGE = `Usage: ${howToRun('import')} <type> <file.csv|file.ndjson>

Loads rows into the running server; rows that are there already change nothing, so a file may be imported again.
Types: ${Object.keys(importedRows).join(', ')}.
CSV: the first line names the columns; empty cells are left out; \`properties\` is JSON. NDJSON: one JSON object a line.
Environment: API_KEY (required, scope admin or grant user:import), BASE_URL (default http://127.0.0.1:3000).`;

const BATCH_ROWS = 1000;
const BATCH_BYTES = 2_000_000;
const MOST_SHOWN = 100;

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
async function main([type, file, ...rest]: readonly string[]): Promise<number> {
  const known = rowType.safeParse(type).data;
  if (known === undefined || file === undefined || rest.length > 0) {
    console.error(type !== undefined && known === undefined ? `There is no type "${type}".\n\n${USAGE}` : USAGE);
    return 2;
  }
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) throw new OperatorError(`There is no file ${file}.`);
  const run = new ImportRun(known, readClientConfig(process.env), size);
  for await (const read of readRows(file, known)) await run.take(read);
  return run.finish();
}

class ImportRun {
  readonly #type: RowType;
  readonly #client: ClientConfig;
  readonly #progress: ProgressLine;
  readonly #sum: Sum = { created: 0, updated: 0, unchanged: 0, refused: 0 };
  #batch: Row[] = [];
  #bytes = 0;

  constructor(type: RowType, client: ClientConfig, fileBytes: number) {
    this.#type = type;
    this.#client = client;
    this.#progress = new ProgressLine(fileBytes, process.stderr);
  }

  async take(read: ReadLine): Promise<void> {
    this.#progress.show(read.bytes, this.#done());
    const checked =
      'problem' in read ? { issues: [{ path: '', message: read.problem }] } : checkRow(this.#type, read.row);
    if ('issues' in checked) return this.#refuse(read.line, checked.issues.map(describe));
    const size = JSON.stringify(checked.row).length;
    if (this.#batch.length === BATCH_ROWS || this.#bytes + size > BATCH_BYTES) await this.#send();
    this.#batch.push({ line: read.line, row: checked.row });
    this.#bytes += size;
  }

  async finish(): Promise<number> {
    await this.#send();
    this.#progress.end();
    const { created, updated, unchanged, refused } = this.#sum;
    if (refused > MOST_SHOWN) console.error(`... and ${refused - MOST_SHOWN} more lines.`);
    console.log(`${this.#type}: ${created} new, ${updated} changed, ${unchanged} unchanged, ${refused} refused.`);
    return refused > 0 ? 1 : 0;
  }

  #done(): number {
    return this.#sum.created + this.#sum.updated + this.#sum.unchanged;
  }

  async #send(): Promise<void> {
    const batch = this.#batch.splice(0);
    this.#bytes = 0;
    if (batch.length === 0) return;
    const input = { type: this.#type, records: batch.map(({ row }) => row) };
    const answer = await callServer(this.#client, 'import_records', input);
    if ('output' in answer) {
      const output = answer.output as Omit<Sum, 'refused'>; // an answer of our own server
      for (const name of ['created', 'updated', 'unchanged'] as const) this.#sum[name] += output[name];
      return;
    }
    const { error, issues = [] } = 'failure' in answer ? answer.failure : { error: answer.refusal };
    const bad = linesOf(issues, batch);
    if (bad.size === 0) {
      this.#progress.end();
      throw new OperatorError(`The server refused lines ${batch[0]?.line} to ${batch.at(-1)?.line}: ${error}`);
    }
    // The server may have other rules than this command. It named the rows that it refuses; the others are sent again.
    for (const [line, reasons] of bad) this.#refuse(line, reasons);
    this.#batch = batch.filter(({ line }) => !bad.has(line));
    await this.#send();
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

main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
}, explainExit);
