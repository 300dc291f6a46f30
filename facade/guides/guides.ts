import { readdirSync, readFileSync } from 'node:fs';

export interface Guide {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly kind: 'guide' | 'reference';
  readonly markdown: string;
}

/** The order in which a newcomer needs them. Others follow by their names. */
const ORDER = [
  'connect-a-client',
  'connect-a-model',
  'use-from-openai-clients',
  'answer-from-documents',
  'capsule-for-a-partner',
  'colleague-with-less',
  'least-privilege',
  'import-from-stripe',
  'flow-from-github',
  'github-to-slack-and-mail',
  'approvals',
  'who-did-what',
  'audit-proof',
  'backup-restore-upgrade',
  'run-on-postgresql',
  'deploy',
  'when-something-is-wrong',
  'threat-model',
];

/** Every `.md` file of this folder: the guides in their order, then the reference pages. */
export const guides: readonly Guide[] = readGuides();

const byName = new Map(guides.map((guide) => [guide.name, guide]));

export function findGuide(name: string): Guide | undefined {
  return byName.get(name);
}

function readGuides(): Guide[] {
  const folder = new URL('./', import.meta.url);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.md'))
    .map((file) => guideOf(file.slice(0, -'.md'.length), readFileSync(new URL(file, folder), 'utf8')))
    .sort((one, other) => positionOf(one) - positionOf(other) || one.name.localeCompare(other.name));
}

function guideOf(name: string, markdown: string): Guide {
  const [, title = name, rest = ''] = /^# ([^\n]+)\n+(.*)$/s.exec(markdown) ?? [];
  const [paragraph = ''] = rest.split(/\n\s*\n/);
  const summary = paragraph
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return { name, title, summary, kind: name.startsWith('reference-') ? 'reference' : 'guide', markdown };
}

function positionOf({ name, kind }: Guide): number {
  const place = ORDER.indexOf(name);
  if (place >= 0) return place;
  return kind === 'guide' ? ORDER.length : ORDER.length + 1;
}
