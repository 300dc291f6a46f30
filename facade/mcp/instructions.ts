import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { capsuleIn, type Principal } from '../../tools/core/access/principal.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { shortened } from '../../tools/search/snippet.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject } from './message.ts';

const INTRODUCING: ReadonlySet<unknown> = new Set(['initialize', 'server/discover']);

export function introduces(message: unknown): boolean {
  return isObject(message) && INTRODUCING.has(message.method);
}

/** At most 200 tokens for a model that has seen no tool yet: what the server is, how tools are named, where to begin. */
export function instructionsFor(
  { principal, url }: Pick<RequestContext, 'principal' | 'url'>,
  registry: Registry,
): string {
  const listed = registry.list(principal);
  // What everybody may call is not a right to anything.
  const entries = listed.filter(({ tool }) => tool.access !== ANYONE);
  if (entries.length === 0) return `${introduction(principal)} You have no right to any tool; ask who gave you access.`;
  const names = listed.map(({ tool }) => tool.name);
  if (url.searchParams.get('mode') === 'search') return [introduction(principal), SEARCH_MODE].join(' ');
  const own = entries.filter(({ tool }) => !tool.name.includes('__'));
  const groups = [...new Set(own.map(({ group }) => group.toLowerCase()))];
  const parts = [
    introduction(principal),
    groups.length > 0 && `Yours are tools for ${enumerated(groups)}.`,
    NAMING,
    own.length < entries.length && 'prefix__name is a tool of another server.',
    whereToBegin(names),
    entries.some(({ tool }) => !tool.annotations.readOnlyHint) && REPEATS,
    !capsuleIn(principal) && GUIDES,
    url.search === '' &&
      names.length > FEW &&
      `If you see fewer than ${names.length} tools, your client cut the list: ${CUT}`,
  ];
  return parts.filter((part) => part !== false).join(' ');
}

const MOST_GROUPS = 10;

function enumerated(groups: readonly string[]): string {
  const named = groups.slice(0, MOST_GROUPS);
  const more = groups.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} areas more` : named.join(', ');
}

/** Every host shows a model at least 40 tools. */
const FEW = 40;

function whereToBegin(names: readonly string[]): string | false {
  if (names.includes('search')) return BEGIN_WITH_SEARCH;
  return names.some((name) => name.startsWith('list_')) && 'Begin with a list_* tool.';
}

const ABOUT = 'the administration server for AI agents and the data around them';

function introduction(principal: Principal): string {
  const capsule = capsuleIn(principal);
  if (!capsule) return `This is agent-admin, ${ABOUT}.`;
  return `This is the capsule ${JSON.stringify(shortName(capsule.name))} of agent-admin, ${ABOUT}.`;
}

/** Up to 32 bytes, because a token can be a single byte. */
function shortName(name: string): string {
  let text = shortened(name, 32);
  while (Buffer.byteLength(text) > 32) text = `${[...text].slice(0, -2).join('')}…`;
  return text;
}

const NAMING =
  'Names are verb_noun: list_*, get_*, create_*, update_*, delete_*, then verbs of their own. Lists are paged: pass nextCursor as cursor.';
const BEGIN_WITH_SEARCH =
  'Begin with search, which finds records of any kind by words, name or id, or with a list_* tool.';
const GUIDES = 'The resources guide://* explain how to do common jobs.';
const REPEATS = '_meta.idempotencyKey makes repeats safe.';
const CUT = 'have its user add ?mode=search to the URL of this server, for three tools that lead to all.';
const SEARCH_MODE =
  'You see three tools that lead to all others: search_tools finds tools by what they do, describe_tool shows the arguments of one, call_tool calls it. Begin with search_tools; names are verb_noun, such as list_agents or get_agent.';
