import { readFile } from 'node:fs/promises';
import MiniSearch from 'minisearch';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Tool } from '../core/registry/define-tool.ts';
import { meaningfulTerms, verbsMeant } from './tool-words.ts';

/** A text that stands for a tool, and how much a hit in it counts. */
interface Phrase {
  readonly id: number;
  readonly tool: string;
  readonly text: string;
  readonly weight: number;
}

/** How much hits in the other phrases of a tool count beside the best one. */
const OTHERS = 0.1;
const MEANT_VERB = 1.3;
/** For tools that read where the request asks for no change, and once more for lists: most such requests want one. */
const READS = 1.2;
const LISTS = 1.1;
/** Phrases that are added to the index at once. */
const PART = 50;
const LOOKS = ['get', 'list'];

/** The index of the tools. Made again when the catalog changes. */
let kept:
  | { readonly catalog: Catalog; readonly version: number; readonly index: Promise<MiniSearch<Phrase>> }
  | undefined;
let examples: ReadonlyMap<string, readonly string[]> | undefined;

/** Names of the tools that fit a request, best first. */
export async function findTools(catalog: Catalog, request: string): Promise<string[]> {
  const meant = verbsMeant(request);
  const isChange = [...meant].some((verb) => !LOOKS.includes(verb));
  const factorOf = (name: string) => {
    const [verb = ''] = name.split('_', 1);
    const reads = !isChange && catalog.get(name)?.tool.annotations.readOnlyHint;
    const lists = !isChange && !meant.has('get') && verb === 'list';
    return (meant.has(verb) ? MEANT_VERB : 1) * (reads ? READS : 1) * (lists ? LISTS : 1);
  };
  const hits = new Map<string, { best: number; all: number }>();
  for (const { tool, weight, score } of (await indexOf(catalog)).search(request)) {
    const { best, all } = hits.get(tool) ?? { best: 0, all: 0 };
    hits.set(tool, { best: Math.max(best, score * weight), all: all + score * weight });
  }
  return [...hits]
    .map(([name, { best, all }]) => ({ name, score: (best + OTHERS * (all - best)) * factorOf(name) }))
    .sort((one, other) => other.score - one.score)
    .map(({ name }) => name);
}

function indexOf(catalog: Catalog): Promise<MiniSearch<Phrase>> {
  const { version } = catalog;
  if (kept?.catalog === catalog && kept.version === version) return kept.index;
  const index = makeIndex(catalog);
  kept = { catalog, version, index };
  index.catch(() => {
    if (kept?.index === index) kept = undefined; // the next search tries again
  });
  return index;
}

/** In small parts, as other calls wait for each. */
async function makeIndex({ entries }: Catalog): Promise<MiniSearch<Phrase>> {
  const index = new MiniSearch<Phrase>({
    fields: ['text'],
    storeFields: ['tool', 'weight'],
    tokenize: meaningfulTerms,
    processTerm: (term) => term,
    searchOptions: {
      prefix: (term) => term.length > 3,
      fuzzy: (term) => term.length > 3 && 0.25,
      weights: { prefix: 0.3, fuzzy: 0.2 },
    },
  });
  examples ??= await readExamples();
  const phrases = entries.flatMap(({ tool }) => phrasesOf(tool, examples?.get(tool.name) ?? []));
  await index.addAllAsync(
    phrases.map((phrase, id) => ({ id, ...phrase })),
    { chunkSize: PART },
  );
  return index;
}

/** Each by itself, so that many phrases do not make one weigh less; and all together, for requests of several thoughts. */
function phrasesOf(
  { name, title, description, keywords = '' }: Tool,
  requests: readonly string[],
): Omit<Phrase, 'id'>[] {
  const [summary = ''] = description.split('. ');
  const words = [...keywords.split(', '), ...requests];
  return [
    { tool: name, text: name.replaceAll('_', ' '), weight: 1 },
    ...words.map((text) => ({ tool: name, text, weight: 1 })),
    { tool: name, text: summary, weight: 0.6 },
    { tool: name, text: [title, description, ...words].join(' '), weight: 1 },
  ];
}

/** What people ask for, in their own words, by the tool that does it. */
async function readExamples(): Promise<Map<string, string[]>> {
  const text = await readFile(new URL('../../data/tools/requests.tsv', import.meta.url), 'utf8');
  const requests = new Map<string, string[]>();
  for (const line of text.trimEnd().split('\n')) {
    const [tool = '', request = ''] = line.split('\t');
    const known = requests.get(tool);
    if (known) known.push(request);
    else requests.set(tool, [request]);
  }
  return requests;
}
