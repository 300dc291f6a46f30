import { stemmer } from 'stemmer';
import { fold } from '../../store/search-text.ts';

/** Expressions of several words, and the one word that stands for them. */
const EXPRESSIONS: readonly (readonly [RegExp, string])[] = [
  [/\be-mail/g, 'email'],
  [/\bto-?dos?( list| items?)?\b/g, 'task'],
  [/\bhow-?tos?\b/g, 'skill'],
  [/\b(log|sign)(ged|ging|s)?[ -]?(me |us |him |her )?(out|off)\b/g, 'logout'],
  [/\b(log|sign)(ged|ging|s)?[ -]?(me |us )?(in|on)\b/g, 'login'],
  [/\b(sign|signed|signing|signs)[ -]?ups?\b/g, 'signup'],
  [/\broll(ed|s|ing)?[ -]?back\b/g, 'undo'],
  [/\btime ?zones?\b/g, 'timezone'],
  [/\bpage ?views?\b/g, 'pageview'],
  [/\bknowledge base\b/g, 'document'],
  [/\bteam ?(members?|mates?)\b/g, 'colleague'],
  [/\bset(ting)? ?up\b/g, 'create'],
  [/\bget rid of\b|\bthrow (away|out)\b/g, 'delete'],
  [/\bmcp servers?\b/g, 'integration'],
];

/** The word of this server for a thing, and what others call it. */
const SYNONYMS: Readonly<Record<string, string>> = {
  agent: 'bot assistant chatbot copilot',
  artifact: 'file attachment image picture',
  capsule: 'partner contractor vendor bundle external',
  colleague: 'coworker teammate staff employee person people',
  cost: 'spend expense bill money price expensive costly',
  database: 'table spreadsheet',
  device: 'phone mobile',
  document: 'article wiki handbook page',
  flow: 'automation automate workflow pipeline zap',
  goal: 'objective okr milestone',
  integration: 'connector plugin upstream',
  key: 'token credential secret',
  limit: 'cap quota budget',
  memory: 'fact remember memorise memorize recall',
  metric: 'number kpi figure',
  model: 'llm gpt',
  record: 'row entry',
  report: 'chart',
  run: 'execution job',
  skill: 'procedure playbook ability',
  task: 'ticket todo chore issue',
  thread: 'chat conversation discussion dialogue dialog',
  undo: 'revert rollback restore recover undelete',
  user: 'customer client subscriber',
  webhook: 'notification notify callback',
};

const IGNORED = new Set(
  `a an the of to in on for and or is are was were be been it its i me my we us our you your he she they them their this that these those there
  here do does did done can could should would will shall may might must has had having with by from as if so than then too very just please
  about into out up off over again any some every each nor only own same such got let s t am more most now ever still also back much`.split(
    /\s+/,
  ),
);

/** The verbs of tools that come in all groups, and how people say them. */
const VERBS: Readonly<Record<string, string>> = {
  list: 'list which all every overview',
  get: 'get open read detail inspect look',
  create: 'create new make add register invite start build write put save store keep teach upload plug give begin open',
  update:
    'update change edit modify adjust set rename correct fix switch move raise lower widen mark assign tick improve extend',
  delete: 'delete remove drop erase destroy kill revoke forget',
};

function stemsOf(table: Readonly<Record<string, string>>): [stem: string, key: string][] {
  return Object.entries(table).flatMap(([key, words]) =>
    words.split(' ').map((word): [string, string] => [stemmer(word), key]),
  );
}

const canonical = new Map(stemsOf(SYNONYMS).map(([stem, word]) => [stem, stemmer(word)]));
const verbs = stemsOf(VERBS);

function wordsOf(text: string): string[] {
  const plain = EXPRESSIONS.reduce((changed, [expression, word]) => changed.replaceAll(expression, word), fold(text));
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The words of a text that say what it is about, each as its stem, and one stem for words of one meaning. */
export function meaningfulTerms(text: string): string[] {
  return wordsOf(text)
    .filter((word) => !IGNORED.has(word))
    .map(stemmer)
    .map((stem) => canonical.get(stem) ?? stem);
}

/** The verbs of tools that a request may mean. */
export function verbsMeant(request: string): ReadonlySet<string> {
  const stems = new Set(wordsOf(request).map(stemmer));
  return new Set(verbs.flatMap(([stem, verb]) => (stems.has(stem) ? [verb] : [])));
}
