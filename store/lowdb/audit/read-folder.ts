import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredHead } from '../../audit-proof/head.ts';
import { parseSeal, type Seal, type SealedEntry } from '../../audit-proof/seal.ts';
import { type Problem, problemOf } from '../../audit-proof/verdict.ts';
import type { FoundEntry } from '../../audit-proof/verify.ts';
import { nodeFileSystem } from '../files/file-system.ts';
import { AUDIT } from '../files/folder.ts';
import { type FileLine, readLines, unsealLine } from '../journal/line.ts';
import { HeadFile } from './head-file.ts';
import { segmentNames } from './segment.ts';

/** The audit log of a data folder or backup that no process has open, as it lies there. Nothing is changed. */
export function auditOfFolder(folder: string): {
  entries: AsyncIterable<FoundEntry>;
  heads: AsyncIterable<StoredHead>;
} {
  return { entries: entriesIn(join(folder, AUDIT)), heads: new HeadFile(folder, nodeFileSystem).read() };
}

async function* entriesIn(folder: string): AsyncGenerator<FoundEntry> {
  for (const { day, name } of existsSync(folder) ? segmentNames(folder) : []) {
    const order = new Order();
    let before = `${day}T00:00:00.000Z`;
    for (const line of readLines(join(folder, name))) {
      if (!line.complete) continue; // a crash cut it off, or a head misses it
      const found = order.check(entryIn(line, before), day);
      before = 'entry' in found ? found.entry.at : found.problem.at;
      yield found;
    }
  }
}

function entryIn(line: FileLine, before: string): FoundEntry {
  const sealed = unsealLine(line.bytes, 0);
  const text = sealed?.json ?? line.bytes.toString('utf8', line.bytes.indexOf('{'));
  const entry = parsed(text);
  // Spaces fill up a line whose content was withdrawn.
  const isWritten = sealed && entry && JSON.stringify(entry) === text.replace(/ +$/, '');
  if (isWritten) return { entry };
  const known = typeof entry?.id === 'string' && typeof entry.at === 'string' ? entry : undefined;
  const problem: Problem = known ? problemOf('changed', known) : { kind: 'changed', at: before };
  return { problem, proof: /"proof":"([^"]*)"/.exec(text)?.[1] };
}

/** Entries of one chain stand in the order of their numbers in a file, after those of chains before it. */
class Order {
  readonly #chains = new Set<string>();
  #last: Seal | undefined;

  check(found: FoundEntry, day: string): FoundEntry {
    if ('problem' in found) return found;
    const { entry } = found;
    const seal = parseSeal(entry.proof ?? '');
    const isInPlace = entry.at.startsWith(day) && this.#isNext(seal);
    return isInPlace ? found : { problem: problemOf('moved', entry), proof: entry.proof };
  }

  #isNext(seal: Seal | undefined): boolean {
    const last = this.#last;
    if (!seal) return last === undefined;
    this.#last = seal;
    if (last?.chain === seal.chain)
      return seal.span > last.span || (seal.span === last.span && seal.number > last.number);
    if (this.#chains.has(seal.chain)) return false;
    this.#chains.add(seal.chain);
    return true;
  }
}

function parsed(text: string): SealedEntry | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const entry = value as SealedEntry; // what is not one is named as changed
    const isOne =
      typeof value === 'object' && value !== null && typeof entry.at === 'string' && isObject(entry.arguments);
    return isOne && isObject(entry.principal) ? entry : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
