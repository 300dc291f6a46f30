import { Marked, type MarkedToken, type Token, type Tokens } from 'marked';
import { escapeHtml } from '../core/escape-html.ts';

export interface MailContent {
  readonly text: string;
  readonly html: string;
}

/** A Markdown text as plain text and as HTML, in which nothing of it is markup, and links lead to http, https and mailto alone. */
export function renderMail(markdown: string): MailContent {
  const marked = new Marked({
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      checkbox: ({ checked }) => (checked ? '[x] ' : '[ ] '),
      code: ({ text }) => `<pre style="white-space:pre-wrap"><code>${escapeHtml(text)}</code></pre>\n`,
      link({ href, tokens }) {
        const inner = this.parser.parseInline(tokens);
        return isLink(href) ? `<a href="${escapeHtml(href)}">${inner}</a>` : inner;
      },
    },
  });
  const tokens = marked.lexer(markdown);
  const body = marked.parser(tokens);
  return { text: `${textOf(tokens).trim()}\n`, html: pageOf(body) };
}

/** A page around HTML that is safe. */
function pageOf(body: string): string {
  const style = 'font:16px/1.5 system-ui,sans-serif;max-width:45rem';
  return `<!doctype html>\n<html><head><meta charset="utf-8"></head><body style="${style}">\n${body}</body></html>\n`;
}

function isLink(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\p{Cc}]+$/iu.test(href);
}

function textOf(tokens: readonly Token[] = []): string {
  // No extension adds types of tokens.
  return tokens.map((token) => oneText(token as MarkedToken)).join('');
}

function oneText(token: MarkedToken): string {
  switch (token.type) {
    case 'space':
    case 'def':
      return '';
    case 'br':
      return '\n';
    case 'hr':
      return `${'-'.repeat(40)}\n\n`;
    case 'heading':
    case 'paragraph':
      return `${textOf(token.tokens)}\n\n`;
    case 'code':
      return `${indented(token.text, '    ')}\n\n`;
    case 'blockquote':
      return `${indented(textOf(token.tokens).trim(), '> ')}\n\n`;
    case 'list':
      return `${listText(token)}\n`;
    case 'table':
      return `${tableText(token)}\n`;
    case 'link': {
      const words = textOf(token.tokens);
      return !isLink(token.href) || token.href === words ? words : `${words} (${token.href})`;
    }
    case 'image':
      return token.text;
    case 'strong':
    case 'em':
    case 'del':
      return textOf(token.tokens);
    case 'text':
      return token.tokens ? textOf(token.tokens) : token.text;
    case 'codespan':
    case 'escape':
      return token.text;
    case 'html':
      return token.block ? `${token.text.trim()}\n\n` : token.text;
    default:
      return token.raw;
  }
}

function listText({ ordered, start, items }: Tokens.List): string {
  const lines = items.map(({ tokens }, index) => {
    const mark = ordered ? `${Number(start || 1) + index}. ` : '- ';
    return `${mark}${indented(textOf(tokens).trim(), ' '.repeat(mark.length)).slice(mark.length)}`;
  });
  return `${lines.join('\n')}\n`;
}

function tableText({ header, rows }: Tokens.Table): string {
  const lines = [header, ...rows].map((cells) => cells.map(({ tokens }) => textOf(tokens)).join(' | '));
  return `${lines.join('\n')}\n`;
}

function indented(text: string, by: string): string {
  return text.replace(/^/gm, by);
}
