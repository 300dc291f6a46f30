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
  [/\bwho am i\b|\bwho i am\b/g, 'whoami'],
  [/\b(chat|talk|speak)(s|ing|ting)? (with|to)\b/g, 'talkto'],
  [/\btak(?:e|es|ing)((?: [\p{L}\p{N}'’]+){0,4}?) over\b/gu, 'takeover$1'],
  [
    /\b(run|execute|launch|fire( off)?|kick off) (?=(the|a|an|my|our|this|that|it|flow|workflow|automation|now)\b)/g,
    'trigger ',
  ],
  [/\bwithout (asking|permission|approval|my (ok|okay|permission|approval|consent))\b/g, 'askfirst'],
  [/\bask(s|ing)? (me|us|somebody|a person|a human)( first| before)?\b/g, 'askfirst'],
  [/\b(best|top|worst|busiest|most)( [a-z]+)? (web ?)?pages?\b/g, 'pageview'],
  [/\b(nothing|not) (else|more)\b/g, 'restrict'],
  [/\blet (?!me|us)([a-z]+) (look|see|read|view|use)\b/g, 'permit $1 $2'],
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

/** The verbs of other tools, and how a request begins that means them. */
const ACTIONS: Readonly<Record<string, string>> = {
  send: 'send talkto tell say reply',
  update: 'permit',
  invoke: 'invoke ask trigger',
  trigger: 'trigger start',
  cancel: 'cancel stop abort kill',
  retry: 'retry repeat redo',
  take: 'takeover',
  decide: 'approve decline reject',
  rotate: 'rotate renew',
  restore: 'restore',
  undo: 'undo',
  connect: 'connect',
  disconnect: 'disconnect',
  refresh: 'refresh',
  import: 'import',
};
const OPENINGS = new Set(
  'please can could would you i we want need to like d let lets s me us help how do now'.split(' '),
);

function stemsOf(table: Readonly<Record<string, string>>): [stem: string, key: string][] {
  return Object.entries(table).flatMap(([key, words]) =>
    words.split(' ').map((word): [string, string] => [stemmer(word), key]),
  );
}

const canonical = new Map(stemsOf(SYNONYMS).map(([stem, word]) => [stem, stemmer(word)]));
const verbs = stemsOf(VERBS);
const actions = Object.entries(ACTIONS).map(([verb, words]) => [verb, words.split(' ')] as const);

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

/** The verbs of tools that a request may mean: those of all groups by any of its words, the others by its first one. */
export function verbsMeant(request: string): ReadonlySet<string> {
  const words = wordsOf(request);
  const stems = new Set(words.map(stemmer));
  const first = words.find((word) => !OPENINGS.has(word)) ?? '';
  const meant = verbs.flatMap(([stem, verb]) => (stems.has(stem) ? [verb] : []));
  return new Set([...meant, ...actions.flatMap(([verb, begun]) => (begun.includes(first) ? [verb] : []))]);
}
