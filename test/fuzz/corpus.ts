import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An input that a usual run repeats: it reached code that none before did, or it showed a defect. */
export interface Kept {
  /** Each character is a byte. */
  readonly input: string;
  /** What was wrong. */
  readonly found?: string;
}

const folder = new URL('corpus/', import.meta.url);

function pathOf(target: string): string {
  return fileURLToPath(new URL(`${target}.ndjson`, folder));
}

export function readCorpus(target: string): Kept[] {
  if (!existsSync(pathOf(target))) return [];
  const lines = readFileSync(pathOf(target), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

export function writeCorpus(target: string, kept: readonly Kept[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(pathOf(target), kept.map((one) => `${asAscii(JSON.stringify(one))}\n`).join(''));
}

/** Editors and diffs show every byte then. */
function asAscii(json: string): string {
  return json.replace(/[\x7f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
