import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { basename, dirname, relative, resolve } from 'node:path';

/**
 * Replaces places in the files of a bundle (`<file>.mjs:<line>:<column>`) by those in the sources. The processes of a run do not do this
 * themselves, since Node would then read the maps of all files at each start.
 */
export function sourcePlaces(bundle: string): (text: string) => string {
  const place = new RegExp(`(?:file://)?[^\\s()'"]*/${basename(bundle)}/([^\\s:()'"]+\\.mjs):(\\d+):(\\d+)`, 'g');
  const maps = new Map<string, SourceMap>();
  return (text) =>
    text.replace(place, (found: string, file: string, line: string, column: string) => {
      const path = resolve(bundle, file);
      if (!existsSync(`${path}.map`)) return found; // the program of a process, which has no source
      const map = maps.get(file) ?? new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')));
      maps.set(file, map);
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalSource' in entry)) return found;
      const source = relative('.', resolve(dirname(path), entry.originalSource));
      return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
}
