import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type GeneratedFile, generated, releasedSurface } from './contract/generated-files.ts';

/**
 * Writes the files that are made from the code, or with --check says which of them are not current. With --release it also keeps what others build
 * upon, which the next versions are compared with.
 */
const check = process.argv.includes('--check');
const made = [...generated(), ...(process.argv.includes('--release') ? [releasedSurface()] : [])];
const stale = made.filter(({ path, text }) => current(path) !== text);

for (const file of stale) write(file);
if (check && stale.length > 0) process.exitCode = 1;

function write({ path, text }: GeneratedFile): void {
  console.log(check ? `${path} is not current; run npm run generate.` : `${path} was written.`);
  if (!check) writeFileSync(absolute(path), text);
}

function current(path: string): string | undefined {
  try {
    return readFileSync(absolute(path), 'utf8');
  } catch {
    return undefined;
  }
}

function absolute(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}
