import type { RequiredRight } from '../../../resources/error.ts';
import { concerns, formatGrant, type Grant, grantAllows, type Need } from './grants.ts';
import type { GuardedTool } from './guarded-tool.ts';
import { ANYONE } from './guarded-tool.ts';
import type { Principal } from './principal.ts';
import { reachesFully, refusal, seesTool } from './reach.ts';
import { accessFor, requirementFor, type Subjects } from './requirement.ts';
import type { Requirement } from './rights.ts';
import { scopesSatisfy } from './scopes.ts';

/** What one rule says about a call. `depends`: it depends on arguments that were not given. */
export interface Finding {
  readonly verdict: 'allowed' | 'denied' | 'depends';
  readonly rule: string;
  readonly required?: RequiredRight | undefined;
}

/** The scope or grants that decide the call. `whole` is false where required arguments are missing; `given` has the names as the caller wrote. */
export async function explainRight(
  principal: Principal,
  tool: GuardedTool,
  input: object,
  whole: boolean,
  subjects: Subjects,
  given: object = input,
): Promise<Finding> {
  const access = accessFor(tool.access, input);
  if (access === ANYONE) return { verdict: 'allowed', rule: `Everyone may call ${tool.name}.` };
  const theirs = principal.limitedBy && (await explainRight(principal.limitedBy, tool, input, whole, subjects, given));
  if (theirs && theirs.verdict !== 'allowed') {
    return { ...theirs, rule: `The person it acts for, ${principal.limitedBy?.name}, has a limit. ${theirs.rule}` };
  }
  const needed = await requirementFor(access, input, subjects);
  const { required } = refusal({ rights: principal.rights }, tool, given).detail;
  if (principal.rights.allows(needed)) return { verdict: 'allowed', rule: ruleOf(principal, needed) };
  if (!whole && seesTool({ rights: principal.rights }, tool)) {
    const verdict = reachesFully({ rights: principal.rights }, tool) ? 'allowed' : 'depends';
    return { verdict, rule: `${ruleOf(principal, needed)} Give the arguments of a call to know more.`, required };
  }
  return { verdict: 'denied', rule: ruleOf(principal, needed), required };
}

function ruleOf({ grants, scopes }: Principal, { scope, needs, narrows }: Requirement): string {
  if (!grants) {
    const held = scopes.find((candidate) => scopesSatisfy([candidate], scope));
    const all = scopes.map((name) => `"${name}"`).join(', ') || 'none';
    return held ? `Scope "${held}" satisfies "${scope}".` : `No scope satisfies "${scope}"; there are: ${all}.`;
  }
  return needs.map((need) => grantRule(grants, need, narrows === true)).join(' ');
}

function grantRule(grants: readonly Grant[], need: Need, narrows: boolean): string {
  const [id] = need.ids ?? [];
  const text = [need.resource, need.op, ...(id === undefined || id.startsWith('{') ? [] : [id])].join(':');
  const by = grants.find((grant) => grantAllows(grant, need));
  if (by) return `Grant "${formatGrant(by)}" covers "${text}".`;
  const near = grants.filter((grant) => concerns(grant, need)).map(formatGrant);
  if (near.length === 0) return `No grant is about "${need.resource}:${need.op}"; with grants, scopes do not count.`;
  const listed = near.slice(0, 10).map((grant) => `"${grant}"`);
  return narrows
    ? `Narrowed to the records of ${listed.join(', ')}.`
    : `No grant covers "${text}"; nearest: ${listed.join(', ')}.`;
}
