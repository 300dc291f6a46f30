/**
 * Names the places of errors in the sources. A source map is read at the first error of its file; Node would read all at each start.
 * JavaScript, because Node 20 runs it directly.
 */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const maps = new Map();

export function mapSourcePositions() {
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${shown(frame)}`)].join('\n');
}

/** As Node writes it, with the code of an error of its own. */
function headOf(error) {
  const { name, code, message } = error;
  const isOfNode = typeof code === 'string' && code.startsWith('ERR_');
  return isOfNode ? `${name} [${code}]: ${message}` : Error.prototype.toString.call(error);
}

function shown(frame) {
  const text = String(frame);
  const file = frame.getFileName();
  const map = file?.startsWith('file:') && mapOf(file);
  if (!map) return text;
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  const { originalSource, originalLine, originalColumn } = map.findEntry(line - 1, column - 1);
  if (originalSource === undefined) return text;
  const source = resolve(dirname(fileURLToPath(file)), originalSource);
  return text.replace(`${file}:${line}:${column}`, `${source}:${originalLine + 1}:${originalColumn + 1}`);
}

function mapOf(file) {
  try {
    if (!maps.has(file)) maps.set(file, readMap(file));
  } catch {
    return undefined; // no file can be opened at present: what fails while an error is described would end the process
  }
  return maps.get(file);
}

/** Nothing if there is no map: the launcher itself has none. */
function readMap(file) {
  const path = `${fileURLToPath(file)}.map`;
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : undefined;
}
