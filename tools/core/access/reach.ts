import { isObject } from '../../../resources/json.ts';
import { FORBIDDEN, forbidden, ToolError } from '../errors.ts';
import { ANYONE, type GuardedTool, withheld } from './guarded-tool.ts';
import type { Principal } from './principal.ts';
import { admits } from './record-limit.ts';
import {
  accessFor,
  allows,
  allowsBound,
  boundFor,
  hasWithoutLimit,
  mayTry,
  narrowestGrant,
  type Subjects,
  selectsBy,
} from './requirement.ts';
import type { Requirement } from './rights.ts';
import { subjectOf } from './subjects.ts';

type StoredRecord = Parameters<typeof subjectOf>[1];

/** The rights of a principal and its limit to some tools. Only this file judges the two together, for lists and for calls. */
type Reach = Pick<Principal, 'rights' | 'tools'>;

/** Equal for principals that can reach the same, so that a list made for one serves the other. */
export function rightsFingerprint({ rights, tools }: Reach): string {
  return tools ? `${rights.fingerprint}\n${tools.fingerprint}` : rights.fingerprint;
}

/** Whether the principal sees the tool: at least one call of it could be allowed. */
export function seesTool(reach: Reach, tool: GuardedTool): boolean {
  if (tool.discovery || isForOwn(reach, tool)) return true;
  if (!(reach.tools?.allows(tool) ?? true) || !mayTry(reach.rights.inCallOf(tool), tool.access)) return false;
  return !tool.actsAs || tool.actsAs.tools.some((other) => standsIn(reach, tool, other));
}

function isForOwn({ rights, tools }: Reach, tool: GuardedTool): boolean {
  return tool.own === true && rights.isPerson === true && !tools;
}

export function reachesFully({ rights, tools }: Reach, tool: GuardedTool): boolean {
  if (!(tools?.allows(tool) ?? true) || tools?.fixed?.(tool)) return false;
  if (tools && tool.actsAs?.tools.some((other) => !reachesFully({ rights, tools }, other))) return false;
  return hasWithoutLimit(rights.inCallOf(tool), tool.access);
}

/** Whether the principal may put the tool into an allowlist. One that `actsAs` others gives no more than those in the allowlist too. */
export function mayDelegate(reach: Reach, tool: GuardedTool): boolean {
  return tool.actsAs && !reach.tools ? seesTool(reach, tool) : reachesFully(reach, tool);
}

/** Whether the call is allowed. The input must be parsed. */
export function mayCall(
  reach: Reach,
  tool: GuardedTool,
  input: object,
  subjects: Subjects,
): boolean | Promise<boolean> {
  if (tool.discovery || isForOwn(reach, tool)) return true;
  const { rights, tools } = reach;
  const other = tool.actsAs?.of(input);
  if (!(tools?.allows(tool) ?? true) || !(tools?.admits?.(tool, input) ?? true)) return false;
  if (other && !standsIn(reach, tool, other)) return false;
  return allows(rights.inCallOf(tool), accessFor(tool.access, input), input, subjects);
}

/** The right that a call needs, to judge by later, when its input is no longer there. Undefined: none. */
export function rightFor(tool: GuardedTool, input: object): Requirement | undefined {
  const access = accessFor(tool.access, input);
  return access === ANYONE ? undefined : boundFor(access, input);
}

/** Whether a principal that is not limited to some tools could make a call of the tool that needs this right. */
export function mayCallWith(
  reach: Reach,
  tool: GuardedTool,
  right: Requirement | undefined,
  subjects: Subjects,
): boolean | Promise<boolean> {
  if (reach.tools) return false;
  return !right || isForOwn(reach, tool) || allowsBound(reach.rights.inCallOf(tool), right, subjects);
}

/** A principal limited to some tools also needs the tool whose work this one does. If this one writes, fixed arguments may only select records. */
function standsIn({ tools }: Reach, { annotations }: GuardedTool, other: GuardedTool): boolean {
  if (!tools) return true;
  if (!tools.allows(other)) return false;
  const fixed = Object.keys(tools.fixed?.(other) ?? {});
  return annotations.readOnlyHint || fixed.every((argument) => selectsBy(other.access, argument));
}

export function inCallOf<Caller extends Pick<Principal, 'rights'>>(principal: Caller, tool: GuardedTool): Caller {
  const rights = principal.rights.inCallOf(tool);
  return rights === principal.rights ? principal : { ...principal, rights };
}

/** The input with the arguments that the limit fixes. @throws ToolError if the caller gave one of them. */
export function withFixed({ tools }: Reach, tool: GuardedTool, input: unknown): unknown {
  const fixed = tools?.fixed?.(tool);
  if (!tools || !fixed || !isObject(input)) return input;
  const issues = withheld(tool, fixed)
    .filter((name) => Object.hasOwn(input, name))
    .map((path) => ({ path, message: `Is fixed by ${tools.holder}; leave it out.` }));
  if (issues[0]) {
    throw new ToolError('invalid_input', `${issues[0].path}: is fixed by ${tools.holder}; leave it out.`, { issues });
  }
  return { ...input, ...fixed };
}

/** Whether fixed arguments hide the record from the principal, whatever its other rights. */
export function isHiddenByLimit(
  { rights }: Pick<Reach, 'rights'>,
  resource: string,
  op: string,
  record: StoredRecord,
): boolean {
  const limit = rights.held(resource, op);
  if (!limit) return false;
  const { names } = subjectOf(resource, record);
  return !admits(limit, { resource, op, ids: names, record });
}

export function refusal({ tools }: Reach, tool: GuardedTool, input: object): ToolError {
  if (tools && !tools.allows(tool)) {
    return forbidden(`${tool.name} is not among the tools of ${tools.holder}.`);
  }
  const access = accessFor(tool.access, input);
  const message = tools?.narrowed?.(tool);
  return new ToolError('forbidden', FORBIDDEN, {
    required: { scope: access.scope, grant: narrowestGrant(access, input) },
    ...(message !== undefined && { issues: [{ path: '', message }] }),
  });
}
