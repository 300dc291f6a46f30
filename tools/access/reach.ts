import type { Tool } from '../define-tool.ts';
import { ToolError } from '../errors.ts';
import type { Principal } from './principal.ts';
import { accessFor, allows, hasWithoutLimit, mayTry, narrowestGrant, type Subjects } from './requirement.ts';

/**
 * What a principal reaches: its rights and, where it is held to some tools, that limit. The only place where the two are put together,
 * for lists and calls alike.
 */
type Reach = Pick<Principal, 'rights' | 'tools'>;

/** Equal for principals that reach the same, so that lists prepared for one serve the other. */
export function reachOf({ rights, tools }: Reach): string {
  return tools ? `${rights.fingerprint}\n${tools.fingerprint}` : rights.fingerprint;
}

/** Whether the tool is the principal's to see: some call of it could be allowed. */
export function reaches({ rights, tools }: Reach, tool: Tool): boolean {
  if (tool.discovery) return true;
  return (tools?.allows(tool) ?? true) && mayTry(rights, tool.access);
}

/** Whether every call of the tool is allowed, whatever its arguments. */
export function reachesWholly({ rights, tools }: Reach, tool: Tool): boolean {
  return (tools?.allows(tool) ?? true) && !tools?.fixed?.(tool) && hasWithoutLimit(rights, tool.access);
}

/** Whether the call is allowed. The input is parsed. */
export function mayCall(
  { rights, tools }: Reach,
  tool: Tool,
  input: object,
  subjects: Subjects,
): boolean | Promise<boolean> {
  if (tool.discovery) return true;
  return (tools?.allows(tool) ?? true) && allows(rights, accessFor(tool.access, input), input, subjects);
}

/** The input with the arguments that the limit fixes. @throws ToolError where the caller gives one of them. */
export function withFixed({ tools }: Reach, tool: Tool, input: unknown): unknown {
  const fixed = tools?.fixed?.(tool);
  if (!tools || !fixed || typeof input !== 'object' || input === null || Array.isArray(input)) return input;
  const issues = Object.keys(fixed)
    .filter((name) => Object.hasOwn(input, name))
    .map((path) => ({ path, message: `Is fixed by ${tools.holder}; leave it out.` }));
  if (issues[0]) {
    throw new ToolError('invalid_input', `${issues[0].path}: is fixed by ${tools.holder}; leave it out.`, { issues });
  }
  return { ...input, ...fixed };
}

/** The refusal of a call, with what would have allowed it. The input need not be checked yet. */
export function refusal({ tools }: Reach, tool: Tool, input: object): ToolError {
  if (tools && !tools.allows(tool)) {
    const message = `${tool.name} is not among the tools of ${tools.holder}.`;
    return new ToolError('forbidden', FORBIDDEN, { issues: [{ path: '', message }] });
  }
  const access = accessFor(tool.access, input);
  return new ToolError('forbidden', FORBIDDEN, {
    required: { scope: access.scope, grant: narrowestGrant(access, input) },
  });
}

export const FORBIDDEN = 'Insufficient permissions';
