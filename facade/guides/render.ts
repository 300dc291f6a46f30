import { Marked, type Tokens } from 'marked';
import { Html, html } from '../http/html.ts';

/** `base`: the path of the server's address, empty where it has none. */
export function createRenderer(base: string): (markdown: string) => Html {
  const marked = new Marked({
    renderer: {
      html: ({ text }) => html`${text.replace(/<!--.*?-->\n*/gs, '')}`.text,
      heading({ tokens, depth, text }) {
        const inner = new Html(this.parser.parseInline(tokens));
        const level = new Html(`h${depth}`);
        return html`<${level} id="${anchorOf(text)}">${inner}</${level}>\n`.text;
      },
      link({ href, tokens }) {
        const inner = new Html(this.parser.parseInline(tokens));
        const to = addressOf(href, base);
        return to === undefined ? inner.text : html`<a href="${to}">${inner}</a>`.text;
      },
      image: ({ text }) => html`${text}`.text,
      code: (token) => codeBlock(token).text,
      table(token) {
        const row = (cells: readonly Tokens.TableCell[], tag: Html) =>
          html`<tr>${cells.map(({ tokens }) => html`<${tag}>${new Html(this.parser.parseInline(tokens))}</${tag}>`)}</tr>`;
        const [head, body] = [new Html('th'), new Html('td')];
        return html`<div class="table-box" tabindex="0"><table class="table">
<thead>${row(token.header, head)}</thead>
<tbody>${token.rows.map((cells) => row(cells, body))}</tbody>
</table></div>\n`.text;
      },
    },
  });
  return (markdown) => new Html(marked.parse(markdown, { async: false }));
}

function codeBlock({ text, lang = '' }: Tokens.Code): Html {
  const [language = ''] = lang.split(' ');
  const isCommand = /^(sh|bash)$/.test(language);
  const label = isCommand ? 'Commands' : 'Text';
  return html`<pre class="${isCommand ? 'commands' : 'shown'}" tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre>\n`;
}

/** The anchors that GitHub gives headings, so that links work in both places. */
function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

/** Another page of the folder, a place of this page, or a web address. Undefined for files that are not served. */
function addressOf(href: string, base: string): string | undefined {
  const [, name, anchor = ''] = /^([\w-]+)\.md(#[\w-]*)?$/.exec(href) ?? [];
  if (name !== undefined) return `${base}/guides/${name}${anchor}`;
  return /^(https?:\/\/|#)/.test(href) ? href : undefined;
}
