import type { Readers } from '../../../store/port.ts';
import { forbidden, type ToolError } from '../errors.ts';
import { oncePer } from '../once-per.ts';
import { globMatcher, noneMatches } from './allowlist.ts';
import { budgetSubjectsIn } from './budgets.ts';
import type { GuardedCatalog, GuardedTool } from './guarded-tool.ts';
import { actorsOf, isSession, type Principal } from './principal.ts';
import { similarNames } from './similar-names.ts';

/** The entries by which calls of the principal wait for a person: its own, and those of all that it acts for. */
function askFirstOf(principal: Principal): readonly string[] {
  return actorsOf(principal).flatMap(({ askFirst = [] }) => askFirst);
}

const matchers = oncePer((entries: readonly string[]) => entries.map(globMatcher));

/** Tools that show a caller how its waiting call stands. Callers whose calls can wait have them without being given them. */
export const FOLLOWING: readonly string[] = ['wait_for_approval', 'get_approval'];

/** Removing an entry from a list of calls that need approval needs approval too. @throws ToolError (forbidden) */
export function requireStillAsks(
  changer: Principal,
  before: readonly string[] = [],
  after: readonly string[] = before,
): void {
  if (asksLess(before, after)) requireAskFirstWithin(changer, after);
}

export function asksLess(before: readonly string[] = [], after: readonly string[] = []): boolean {
  return before.some((entry) => !after.includes(entry) && !after.includes('*'));
}

/** Whether the call waits for a person. Unlike in allowlists, a glob also matches tools that need `admin`, and those of integrations. */
export function asksFirst(principal: Principal, tool: GuardedTool, input: object): boolean {
  if (!canAsk(tool)) return false;
  if (tool.needsApproval === true) return true;
  const names = [tool.name, ...(tool.actsAs ? [tool.actsAs.of(input)?.name ?? tool.name] : [])];
  return actorsOf(principal).some(
    ({ askFirst }) => askFirst && matchers(askFirst).some((matches) => names.some(matches)),
  );
}

function canAsk({ discovery, neverAsks }: GuardedTool): boolean {
  return !discovery && !neverAsks;
}

/** A sentence for each entry by which no call waits now, with the most similar names. */
export function askFirstWarnings(entries: readonly string[] = [], catalog: GuardedCatalog): string[] {
  if (entries.length === 0) return [];
  const tools = catalog.entries.map(({ tool }) => tool).filter((tool) => !tool.serves);
  const similar = similarNames(catalog);
  return entries.flatMap((entry) => {
    const matches = globMatcher(entry);
    const matched = tools.filter(({ name }) => matches(name));
    if (matched.length === 0) return `askFirst: ${noneMatches(entry, similar(entry))}`;
    return matched.some(canAsk) ? [] : `askFirst: "${entry}" matches only tools that never ask.`;
  });
}

/** Nobody gets around a person by making or taking something that need not ask. @throws ToolError (forbidden) */
export function requireAskFirstWithin(giver: Principal, handed: readonly string[] | undefined): void {
  const missing = askFirstOf(giver).find((entry) => !handed?.includes(entry) && !handed?.includes('*'));
  if (missing !== undefined) throw asksMore(missing);
}

function asksMore(entry: string): ToolError {
  return forbidden(
    `Your own calls of ${entry} wait for a person, so what you make or change here must ask first too: name "${entry}" in its askFirst, where it has one.`,
  );
}

/** Everybody and everything behind a caller: people, and what made it. Two callers that share one of them are not independent. */
export async function behind(principal: Principal, store: Pick<Readers, 'apiKeys' | 'sessions'>): Promise<string[]> {
  const all = actorsOf(principal);
  const subjects = budgetSubjectsIn(principal).filter((subject) => !/^(agent|person) /.test(subject));
  const found = new Set([...all.flatMap(({ ownerId, askedBy = [] }) => [ownerId, ...askedBy]), ...subjects]);
  for (const subject of subjects) {
    const [type, id = ''] = subject.split(' ');
    const key = type === 'key' ? await store.apiKeys.get(id) : undefined;
    if (key) found.add(key.ownerId).add(key.createdBy);
  }
  for (const session of all.filter(isSession)) {
    const { makerId } = (await store.sessions.get(session.sessionId)) ?? {};
    if (makerId !== undefined) found.add(makerId);
  }
  found.delete('');
  return [...found];
}
