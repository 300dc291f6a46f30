import { createDocument } from '@mixmark-io/domino';
import TurndownService from 'turndown';
import { type ConversionLimits, type Converted, requireFitting, UnreadableFile } from './limits.ts';
import { decodeFile } from './text.ts';

/** Everything that is not text of the page. */
const NO_TEXT =
  'script,style,noscript,template,iframe,object,embed,svg,canvas,form,button,input,select,textarea,img,picture,video,audio,link,meta,dialog,[hidden],[aria-hidden="true"]';
const AROUND =
  'nav,footer,aside,[role="navigation"],[role="banner"],[role="contentinfo"],[role="complementary"],body>header';
/** Where the content of a page is, the most certain first. */
const CONTENT = ['main', '[role="main"]', 'article'];
/** A place counts as the content where it has at least this share of the page's text. */
const LEAST_SHARE = 0.3;

/** The readable part of a page. Nothing of it is run or loaded. */
export function fromHtml(bytes: Buffer, limits: ConversionLimits): Converted {
  const document = createDocument(decodeFile(bytes));
  const { body } = document;
  const title = document.title.trim();
  remove(body, NO_TEXT);
  const markdown = markdownOf(contentOf(body)) || markdownOf(body);
  if (markdown === '') throw new UnreadableFile('The page has no text of its own; save it after its scripts ran.');
  requireFitting(markdown, limits);
  return { markdown, title };
}

function contentOf(body: PageElement): PageElement {
  const least = letters(body) * LEAST_SHARE;
  for (const selector of CONTENT) {
    const found = Array.from(body.querySelectorAll(selector));
    const [only] = found;
    if (only && found.length === 1 && letters(only) >= least) return only;
  }
  const copy = body.cloneNode(true);
  remove(copy, AROUND);
  return copy;
}

function remove(within: PageElement, selector: string): void {
  for (const element of Array.from(within.querySelectorAll(selector))) element.parentNode?.removeChild(element);
}

function letters({ textContent }: PageElement): number {
  return (textContent ?? '').replace(/\s+/g, '').length;
}

/** Headings, lists, tables, code and links become Markdown; pictures are left out. */
export function markdownOf(html: string | PageElement): string {
  return turndown.turndown(html).trim();
}

const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
turndown.remove(['script', 'style', 'noscript', 'title', 'head']);
turndown.addRule('pictures', { filter: 'img', replacement: () => '' });
turndown.addRule('links', {
  filter: 'a',
  replacement(content, node) {
    const href = node.getAttribute('href') ?? '';
    return /^(?:https?|mailto):/i.test(href) && content.trim() !== '' ? `[${content}](${href})` : content;
  },
});
turndown.addRule('tables', {
  filter: 'table',
  replacement: (_, node) => `\n\n${tableOf(node)}\n\n`,
});

/** Cells hold text alone, in one line. A table inside of another one is text of its cell. */
function tableOf(table: PageElement): string {
  const rows = Array.from(table.querySelectorAll('tr'), (row) => {
    const cells = Array.from(row.children).filter(({ nodeName }) => nodeName === 'TD' || nodeName === 'TH');
    return cells.map((cell) => (cell.textContent ?? '').trim().replace(/\s+/g, ' ').replaceAll('|', '\\|'));
  });
  const [header = [], ...others] = rows.filter((row) => row.length > 0);
  const width = others.reduce((most, { length }) => Math.max(most, length), header.length);
  const line = (cells: readonly string[]) =>
    `| ${Array.from({ length: width }, (_, at) => cells[at] ?? '').join(' | ')} |`;
  return width <= 0 ? '' : [header, Array(width).fill('---'), ...others].map(line).join('\n');
}
