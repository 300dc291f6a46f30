import type { ComponentChildren, JSX } from 'preact';
import { Code } from './code.tsx';

/** A text that people or models wrote with the usual marks of Markdown. All else stays the text it is. */
export function Prose({ text }: { readonly text: string }) {
  return (
    <div class="prose">
      {blocksOf(text).map((block, index) => (
        <Block key={`${index} ${block.kind}`} block={block} />
      ))}
    </div>
  );
}

type BlockKind = 'code' | 'list' | 'numbers' | 'quote' | 'heading' | 'rule' | 'table' | 'text';

interface ProseBlock {
  readonly kind: BlockKind;
  readonly lines: readonly string[];
  /** Of a heading. */
  readonly level?: number;
}

function Block({ block: { kind, lines, level = 1 } }: { readonly block: ProseBlock }): JSX.Element {
  const text = lines.join('\n');
  if (kind === 'code') return <Code value={text} />;
  if (kind === 'rule') return <hr />;
  if (kind === 'table') return <ProseTable lines={lines} />;
  if (kind === 'quote') return <blockquote>{inline(text)}</blockquote>;
  if (kind === 'heading') return <p class={`prose-heading level-${Math.min(level, 3)}`}>{inline(text)}</p>;
  if (kind === 'text') return <p>{inline(text)}</p>;
  const List = kind === 'list' ? 'ul' : 'ol';
  return (
    <List>
      {lines.map((line, index) => (
        <li key={`${index} ${line}`}>{inline(line)}</li>
      ))}
    </List>
  );
}

/** The second line is of dashes, below the names of the columns. Other lines with bars are text. */
function ProseTable({ lines }: { readonly lines: readonly string[] }) {
  const [head = [], dashes = [], ...rows] = lines.map(cellsOf);
  if (lines.length < 2 || !dashes.every((cell) => /^:?-+:?$/.test(cell))) {
    return <p>{inline(lines.map((line) => `|${line}`).join('\n'))}</p>;
  }
  return (
    <div class="table-box">
      <table class="table numbers">
        <thead>
          <tr>
            {head.map((cell, column) => (
              <th key={`${column} ${cell}`} scope="col">
                {inline(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={`${row} ${cells.join('|')}`}>
              {head.map((name, column) => (
                <td key={`${column} ${name}`}>{inline(cells[column] ?? '')}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellsOf(line: string): string[] {
  return line
    .replace(/\|\s*$/, '')
    .split('|')
    .map((cell) => cell.trim());
}

const STARTS: readonly (readonly [BlockKind, RegExp])[] = [
  ['list', /^\s*[-*+] +/],
  ['numbers', /^\s*\d+[.)] +/],
  ['quote', /^> ?/],
  ['heading', /^#{1,6} +/],
  ['rule', /^(-{3,}|\*{3,})\s*$/],
  ['table', /^\s*\|/],
];

function blocksOf(text: string): ProseBlock[] {
  const blocks: ProseBlock[] = [];
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? '';
    const fence = /^\s*(```|~~~)/.exec(line)?.[1];
    if (fence !== undefined) {
      const end = lines.findIndex((other, index) => index > at && other.trimStart().startsWith(fence));
      const last = end < 0 ? lines.length : end;
      blocks.push({ kind: 'code', lines: lines.slice(at + 1, last) });
      at = last + 1;
      continue;
    }
    if (line.trim() !== '') {
      const [kind, mark] = STARTS.find(([, pattern]) => pattern.test(line)) ?? (['text', undefined] as const);
      const before = blocks.at(-1);
      const continues = before?.kind === kind && kind !== 'heading' && (lines[at - 1] ?? '').trim() !== '';
      const own = mark ? line.replace(mark, '') : line;
      const level = kind === 'heading' ? { level: line.indexOf(' ') } : {};
      if (continues && before) blocks[blocks.length - 1] = { ...before, lines: [...before.lines, own] };
      else blocks.push({ kind, lines: [own], ...level });
    }
    at += 1;
  }
  return blocks;
}

/** Code, strong, emphasis and links to http addresses. */
const MARKS =
  /`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])[*_]([^*_\n]+)[*_](?![\w*])|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

function inline(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKS)) {
    const [whole, code, strong, weak, label, url] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (strong !== undefined) parts.push(<strong>{strong}</strong>);
    else if (weak !== undefined) parts.push(<em>{weak}</em>);
    else parts.push(<Outward url={url ?? ''}>{label}</Outward>);
  }
  parts.push(text.slice(end));
  return parts;
}

/** A link out of the dashboard. The other page does not learn where it was followed. */
export function Outward({ url, children }: { readonly url: string; readonly children: ComponentChildren }) {
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
