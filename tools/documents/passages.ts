/** A part of a document under one heading, of about 200 to 400 tokens. */
export interface Passage {
  /** The headings above it, the outermost first. */
  readonly path: readonly string[];
  /** Where it begins in the document, in characters. */
  readonly offset: number;
  readonly text: string;
}

const WANTED = 1000;
const LONGEST = 1600;

const HEADING = /^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** A run of lines without an empty line between them, or a block of code, by its place in the document. */
interface Block {
  readonly start: number;
  end: number;
}

/** Splits Markdown at headings and between paragraphs. Every character but headings and empty lines is in one passage. */
export function passagesOf(markdown: string): Passage[] {
  const passages: Passage[] = [];
  let path: { readonly level: number; readonly text: string }[] = [];
  let blocks: Block[] = [];
  let open: Block | undefined;
  let fence: string | undefined;
  const endSection = () => {
    const headings = path.map(({ text }) => text);
    for (const { start, end } of joined(blocks.flatMap((block) => split(markdown, block)))) {
      passages.push({ path: headings, offset: start, text: markdown.slice(start, end) });
    }
    blocks = [];
    open = undefined;
  };
  for (const { line, start } of linesOf(markdown)) {
    const heading = fence === undefined ? HEADING.exec(line) : undefined;
    if (heading) {
      endSection();
      const level = heading[1]?.length ?? 1;
      path = [...path.filter((above) => above.level < level), { level, text: heading[2] ?? '' }];
      continue;
    }
    if (fence === undefined && line.trim() === '') {
      open = undefined;
      continue;
    }
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) fence = mark;
    else if (mark?.startsWith(fence) && line.trim() === mark) fence = undefined;
    if (!open) {
      open = { start, end: start };
      blocks.push(open);
    }
    open.end = start + line.length;
  }
  endSection();
  return passages;
}

function* linesOf(text: string): Generator<{ readonly line: string; readonly start: number }, void> {
  let start = 0;
  while (start < text.length) {
    const end = text.indexOf('\n', start);
    const line = text.slice(start, end === -1 ? text.length : end);
    yield { line: line.endsWith('\r') ? line.slice(0, -1) : line, start };
    start += line.length + 1;
  }
}

const BORDERS = [/\n/g, /[.!?](?=\s)|[。！？]/g, /\s/g];

/** A block that is too long, cut behind a line, a sentence or a word. */
function split(text: string, { start, end }: Block): Block[] {
  const parts: Block[] = [];
  let from = start;
  while (end - from > LONGEST) {
    const part = text.slice(from, from + LONGEST);
    const at = BORDERS.map((border) => [...part.matchAll(border)].at(-1)?.index ?? 0).find(
      (place) => place > WANTED / 2,
    );
    const length = at === undefined ? part.toWellFormed().replace(/\uFFFD$/, '').length : at + 1;
    parts.push({ start: from, end: from + length });
    from += length;
  }
  return [...parts, { start: from, end }];
}

/** Blocks that follow each other, joined while they are short. */
function joined(blocks: readonly Block[]): Block[] {
  const longer: Block[] = [];
  for (const block of blocks) {
    const last = longer.at(-1);
    if (last && block.end - last.start <= WANTED) last.end = block.end;
    else longer.push({ ...block });
  }
  return longer;
}
