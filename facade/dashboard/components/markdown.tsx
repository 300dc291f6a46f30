import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { Code } from './code.tsx';

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
      return <Code value={token.text} />;
    case 'hr':
      return <hr />;
    case 'heading':
      return <p class={`prose-heading level-${Math.min(token.depth, 3)}`}>{drawn(token.tokens)}</p>;
    case 'paragraph':
      return <p>{drawn(token.tokens)}</p>;
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
            {header.map(({ tokens }, column) => (
              <th key={column} scope="col">
                {drawn(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, column) => (
                <td key={column}>{drawn(tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link out of the dashboard. The other page does not learn where it was followed. */
function Outward({ href, tokens }: Tokens.Link) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {drawn(tokens)}
    </a>
  );
}
