import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { parseJson } from '../../../resources/json.ts';
import { Code, Json } from './code.tsx';

/** Draws a text by the tokens of its Markdown: nothing of it becomes markup, and links lead to http addresses alone. */
export function Markdown({ text }: { readonly text: string }) {
  return <div class="prose">{drawn(lexer(text))}</div>;
}

function drawn(tokens: readonly Token[] = []): ComponentChildren {
  // No extension adds types of tokens.
  return tokens.map((token, index) => <Drawn key={`${index} ${token.type}`} token={token as MarkedToken} />);
}

function Drawn({ token }: { readonly token: MarkedToken }) {
  switch (token.type) {
    case 'space':
      return null;
    case 'code':
      return <Written text={token.text} />;
    case 'hr':
      return <hr />;
    case 'heading':
      return <p class={`prose-heading level-${Math.min(token.depth, 3)}`}>{drawn(token.tokens)}</p>;
    case 'paragraph':
      return jsonIn(token.raw) === undefined ? <p>{drawn(token.tokens)}</p> : <Written text={token.raw} />;
    case 'blockquote':
      return <blockquote>{drawn(token.tokens)}</blockquote>;
    case 'list':
      return <List {...token} />;
    case 'table':
      return <ProseTable {...token} />;
    case 'strong':
      return <strong>{drawn(token.tokens)}</strong>;
    case 'em':
      return <em>{drawn(token.tokens)}</em>;
    case 'codespan':
      return <code>{token.text}</code>;
    case 'link':
      return /^https?:\/\//i.test(token.href) ? <Outward {...token} /> : token.raw;
    case 'text':
      return <>{token.tokens ? drawn(token.tokens) : token.text}</>;
    case 'escape':
      return token.text;
    default:
      return token.raw; // HTML, pictures and whatever else is the text that it is
  }
}

/** A text as it is written. JSON gets its lines, and is folded where these are many. */
function Written({ text }: { readonly text: string }) {
  const value = jsonIn(text);
  if (value === undefined) return <Code value={text} />;
  const lines = JSON.stringify(value, null, 2).split('\n').length;
  if (lines <= MOST_LINES) return <Json value={value} />;
  return (
    <details>
      <summary>JSON, {lines} lines</summary>
      <Json value={value} />
    </details>
  );
}

const MOST_LINES = 16;

/** The object, or the list of objects or texts, that the text is in JSON. `[1, 3]` cites passages. */
function jsonIn(text: string): object | undefined {
  const value = /^\s*(\{|\[\s*[^\d\s])/.test(text) ? parseJson(text) : undefined;
  return typeof value === 'object' && value !== null ? value : undefined;
}

function List({ ordered, items }: Tokens.List) {
  const Kind = ordered ? 'ol' : 'ul';
  return (
    <Kind>
      {items.map(({ tokens, raw }, index) => (
        <li key={`${index} ${raw}`}>{drawn(tokens)}</li>
      ))}
    </Kind>
  );
}

function ProseTable({ header, rows }: Tokens.Table) {
  return (
    <div class="table-box">
      <table class="table numbers">
        <thead>
          <tr>
            {header.map(({ tokens, align }, column) => (
              <th key={column} scope="col" class={sideOf(align)}>
                {drawn(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens, align }, column) => (
                <td key={column} class={sideOf(align)}>
                  {drawn(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function sideOf(align: Tokens.TableCell['align']): string | undefined {
  return align === 'right' ? 'end' : undefined;
}

/** A link out of the dashboard. The other page does not learn where it was followed. */
function Outward({ href, tokens }: Tokens.Link) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {drawn(tokens)}
    </a>
  );
}
