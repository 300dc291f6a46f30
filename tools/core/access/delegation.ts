import { FORBIDDEN, forbidden, ToolError } from '../errors.ts';
import { firstExceeding, isGlob, isGuest } from './allowlist.ts';
import { scopesFor } from './assignable.ts';
import { requireFreshFor } from './fresh-sign-in.ts';
import { formatGrant, type Grant, grantCovers } from './grants.ts';
import type { GuardedCatalog } from './guarded-tool.ts';
import { endOf, type Principal } from './principal.ts';
import { hasWithoutLimit, missingRight } from './requirement.ts';
import { GUEST_GRANT, GUEST_SCOPES, scopesCover, scopesSatisfy } from './scopes.ts';

/** The rights that a call would give to something that acts: a key, a capsule, a flow, an agent's allowlist. */
export interface DelegatedRights {
  readonly scopes?: readonly string[];
  readonly grants?: readonly Grant[];
  /** Where it is given, scopes may be handed on as grants that they cover. */
  readonly catalog?: GuardedCatalog;
  readonly tools?: HandedTools;
  /** What it asks a person first for. Given where the thing makes calls of its own. */
  readonly askFirst?: readonly string[] | undefined;
  /** What the call makes has full access, as a person who signs in does. */
  readonly fullAccess?: true;
  /** When the thing that the call makes ends, where it could outlive its maker. `never`: it is a person, who can sign in from then on. */
  readonly lifetime?: { readonly expiresAt: string | undefined } | 'never' | undefined;
}

interface HandedTools {
  readonly entries: readonly string[];
  readonly catalog: GuardedCatalog;
  /** Without full access each entry is the name of a tool there is: globs and names of future tools could later reach anything. */
  readonly named?: true;
}

/** Nobody gives away more rights than they have. @throws ToolError (forbidden) that names the first right that the giver lacks */
export function requireWithinRights(giver: Principal, handed: DelegatedRights): void {
  if (giver.tools && (handed.fullAccess || handed.scopes || handed.grants)) {
    throw refusal(`rights without a limit on tools, because ${giver.tools.holder} has one`, {});
  }
  if (handed.fullAccess && !giver.rights.isAdmin) throw refusal('full access', { scope: 'admin', grant: '*' });
  requireScopesWithin(giver, handed.scopes ?? []);
  requireGrantsWithin(giver, handed);
  const beyond = handed.tools && exceedsTools(giver, handed.tools);
  if (beyond) throw refusal(beyond.what, beyond.required);
  if (handed.tools) requireFreshFor(giver, handed.tools.entries, handed.tools.catalog);
  if (handed.tools?.named) requireNames(giver, handed.tools);
  if (handed.lifetime) requireLifetimeWithin(giver, handed.lifetime);
}

function requireScopesWithin(giver: Principal, scopes: readonly string[]): void {
  if (giver.rights.isAdmin) return;
  const beyond = scopes.find((scope) => !scopesCover(giver.scopes, scope));
  if (beyond !== undefined) throw refusal(`the scope ${beyond}`, { scope: beyond });
}

function requireGrantsWithin(giver: Principal, { grants, scopes, catalog }: DelegatedRights): void {
  if (giver.rights.isAdmin) return;
  const beyond = grants?.find((grant) => !covered(giver, grant, catalog));
  if (beyond) throw refusal(`the grant ${formatGrant(beyond)}`, { grant: formatGrant(beyond) });
  if (giver.grants && scopes && !grants?.length) {
    throw refusal('a key without grants: your rights are grants, so give grants that yours cover', {});
  }
}

function covered(giver: Principal, grant: Grant, catalog: GuardedCatalog | undefined): boolean {
  if (giver.grants) return giver.grants.some((own) => grantCovers(own, grant));
  return catalog !== undefined && scopesFor(grant, catalog).every((scope) => scopesSatisfy(giver.scopes, scope));
}

interface Beyond {
  readonly what: string;
  readonly required: { scope?: string; grant?: string };
}

export function exceedsTools(giver: Principal, { entries, catalog }: HandedTools): Beyond | undefined {
  for (const entry of entries) {
    const guests = mayMeanGuests(entry) && !catalog.get(entry) && beyondGuests(giver, entry);
    if (guests) return guests;
  }
  const beyond = firstExceeding(entries, catalog, giver);
  if (!beyond) return undefined;
  const what = `the tool ${beyond.name}`;
  if (giver.tools && !giver.tools.allows(beyond)) return { what, required: {} };
  return { what, required: missingRight(giver.rights, beyond.access) };
}

/** Whether the entry could later match a tool of an integration without a prefix: no tool has this name now. */
function mayMeanGuests(entry: string): boolean {
  return isGuest(entry) || !isGlob(entry);
}

/** Tools of integrations come and go while the entry stays. So the giver needs the right to every tool that the entry could ever match. */
function beyondGuests(giver: Principal, entry: string): Beyond | undefined {
  const grant = guestGrant(entry);
  if (hasWithoutLimit(giver.rights, { scope: GUEST_SCOPES.writes, grant })) return undefined;
  return { what: `tools that "${entry}" may match later`, required: { scope: GUEST_SCOPES.writes, grant } };
}

/** The grant for every tool of integrations that the entry could ever match. */
function guestGrant(entry: string): string {
  if (!isGuest(entry)) return GUEST_GRANT;
  if (!isGlob(entry)) return `${GUEST_GRANT}:${entry.replace('__', '/')}`;
  const [prefix = ''] = entry.split('__', 1);
  return isGlob(prefix) ? GUEST_GRANT : `${GUEST_GRANT}:${prefix}/*`;
}

function requireNames({ rights, tools }: Principal, { entries, catalog }: HandedTools): void {
  if (rights.isAdmin && !tools) return;
  const issues = entries.flatMap((entry, index) =>
    catalog.get(entry)
      ? []
      : [{ path: `allowedTools[${index}]`, message: `"${entry}" is not the name of a tool: ${ONE_BY_ONE}` }],
  );
  if (issues[0]) throw new ToolError('forbidden', FORBIDDEN, { required: { scope: 'admin' }, issues });
}

const ONE_BY_ONE = 'without full access, name the tools there are one by one, without globs.';

function requireLifetimeWithin(giver: Principal, lifetime: NonNullable<DelegatedRights['lifetime']>): void {
  const end = endOf(giver);
  if (end === undefined) return;
  if (lifetime === 'never') {
    throw forbidden(`What you make here would stay, but your own credential ends at ${end}; use one without an end.`);
  }
  if (lifetime.expiresAt !== undefined && lifetime.expiresAt <= end) return;
  throw forbidden(`What you make may not outlive your own credential; give an expiresAt no later than ${end}.`);
}

function refusal(what: string, required: { scope?: string; grant?: string }): ToolError {
  return forbidden(`You cannot hand out ${what}: it is beyond your own rights.`, required);
}
