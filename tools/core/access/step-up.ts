import { APP_SCOPES, type AppScope } from '../../../resources/connected-app.ts';
import type { ToolError } from '../errors.ts';
import { canBeInApp } from './app-principal.ts';
import type { GuardedTool } from './guarded-tool.ts';
import { chainOf, type Principal } from './principal.ts';
import { reaches, refusal } from './reach.ts';
import { accessFor } from './requirement.ts';
import { scopesSatisfy } from './scopes.ts';

/** The error for a refused call. For a connected app it names what the app can ask its person for, if that would help. The input may be unchecked. */
export function refusalFor(principal: Principal, tool: GuardedTool, input: object): ToolError {
  const refused = refusal(principal, tool, input);
  const askFor = scopesToAskFor(principal, tool, input);
  return askFor ? refused.with({ askFor }) : refused;
}

/**
 * The scopes that a connected app must ask its person for, to be allowed a call that it is refused now: those it has and all that are
 * missing. Undefined if no scope would help, because the person may not make the call either, or because no app may.
 */
export function scopesToAskFor(principal: Principal, tool: GuardedTool, input: object): AppScope[] | undefined {
  const person = principal.type === 'app' && isOpenToMore(principal) ? chainOf(principal).at(-1) : undefined;
  if (person?.type !== 'session') return undefined;
  const { scope } = accessFor(tool.access, input);
  if (scopesSatisfy(principal.scopes, scope) || !canBeInApp(tool) || !reaches(person, tool)) return undefined;
  const needed = APP_SCOPES.findIndex((each) => scopesSatisfy([each], scope));
  return needed < 0 ? undefined : APP_SCOPES.slice(0, needed + 1);
}

/** False at the endpoint of a capsule, where there is nothing to hand out but the capsule. */
function isOpenToMore({ actsFor, resource = '' }: Principal): boolean {
  return actsFor?.type !== 'capsule' || !resource.includes(`/${actsFor.id}/`);
}
