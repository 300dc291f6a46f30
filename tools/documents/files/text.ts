import { parse } from 'csv-parse/sync';
import { type ConversionLimits, type Converted, requireFitting, UnreadableFile } from './limits.ts';

/** Text in UTF-8, in UTF-16 with a byte order mark, or else in Windows-1252. */
export function decodeFile(bytes: Buffer): string {
  const mark = bytes.toString('latin1', 0, 2);
  if (mark === '\xff\xfe') return new TextDecoder('utf-16le').decode(bytes);
  if (mark === '\xfe\xff') return new TextDecoder('utf-16be').decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

const FRONT_MATTER = /^---\r?\n[\s\S]*?\r?\n---(?:\r?\n|$)/;
const FIRST_HEADING = /^\s*# +(.+?)[ #]*(?:\r?\n|$)/;

/** Markdown stays as it is. Its title is a first heading, or `title` of YAML before it. */
export function fromMarkdown(bytes: Buffer, limits: ConversionLimits): Converted {
  const markdown = decodeFile(bytes);
  requireFitting(markdown, limits);
  const matter = FRONT_MATTER.exec(markdown)?.[0] ?? '';
  const named = /^title:[ \t]*(["']?)(.+?)\1[ \t]*\r?$/m.exec(matter)?.[2];
  const heading = FIRST_HEADING.exec(markdown.slice(matter.length))?.[1]?.replace(/[*_`]/g, '');
  return { markdown, title: named ?? heading };
}

export function fromText(bytes: Buffer, limits: ConversionLimits): Converted {
  const markdown = decodeFile(bytes);
  requireFitting(markdown, limits);
  return { markdown };
}

/** A part of a table that stays one passage. */
const PART_CHARACTERS = 1200;
const DELIMITERS = [',', ';', '\t', '|'];

/** A table for each few rows under a heading that says which, with the names of the columns again: a passage of it can be read alone. */
export function fromCsv(bytes: Buffer, limits: ConversionLimits): Converted {
  const text = decodeFile(bytes).replace(/^\uFEFF/, '');
  const [header = [], ...rows] = parseRows(text);
  if (header.length > limits.columns) {
    const message = `The table has ${header.length} columns, more than ${limits.columns}; send fewer.`;
    throw new UnreadableFile(message, 'too_large');
  }
  const head = `${line(header)}\n${line(header.map(() => '---'))}\n`;
  const parts: string[] = [];
  let [part, first, length] = ['', 1, 0];
  const endPart = (last: number) => {
    if (part !== '') parts.push(`## Rows ${first} to ${last}\n\n${head}${part}`);
    [part, first] = ['', last + 1];
  };
  for (const [index, row] of rows.entries()) {
    const next = `${line(header.map((_, at) => row[at] ?? ''))}\n`;
    if (part !== '' && head.length + part.length + next.length > PART_CHARACTERS) endPart(index);
    part += next;
    length += next.length;
    if (length > limits.characters) requireFitting(' '.repeat(limits.characters + 1), limits, TOO_MANY_ROWS);
  }
  endPart(rows.length);
  const markdown = parts.length === 0 ? head : parts.join('\n');
  requireFitting(markdown, limits, TOO_MANY_ROWS);
  return { markdown };
}

const TOO_MANY_ROWS = 'split the file, or keep its rows in a database (create_database)';

function parseRows(text: string): string[][] {
  const firstLine = text.slice(0, 20_000).split(/\r?\n/, 1)[0] ?? '';
  const count = (delimiter: string) => firstLine.split(delimiter).length;
  const delimiter = DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
  try {
    return parse(text, { delimiter, relaxColumnCount: true, skipEmptyLines: true, relaxQuotes: true });
  } catch (cause) {
    const where = cause instanceof Error && 'lines' in cause ? ` (line ${cause.lines})` : '';
    throw new UnreadableFile(`The file is not valid CSV${where}; check its quotes, or send it as .txt.`);
  }
}

function line(cells: readonly string[]): string {
  return `| ${cells
    .map((cell) =>
      cell
        .trim()
        .replaceAll('|', '\\|')
        .replace(/\s*\r?\n\s*/g, ' '),
    )
    .join(' | ')} |`;
}
