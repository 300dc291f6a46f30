import type { Issue } from '../../resources/error.ts';
import { type IntegrationRecord, SECRET_MASK, type ToolDefinition } from '../../resources/integration.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { shownName } from './upstream/tool-definitions.ts';
import type { Upstreams } from './upstream/upstreams.ts';

export interface TargetInput {
  readonly transport: IntegrationRecord['transport'];
  readonly command?: string | undefined;
  readonly args?: readonly string[] | null | undefined;
  readonly env?: Secrets | null | undefined;
  readonly url?: string | undefined;
  readonly headers?: Secrets | null | undefined;
  readonly auth?: IntegrationRecord['auth'] | null;
  readonly oauth?: IntegrationRecord['oauth'] | null;
}

export type Secrets = Readonly<Record<string, string>>;

const OF = { stdio: ['command', 'args', 'env'], http: ['url', 'headers', 'auth', 'oauth'] } as const;

/** Integrations run programs and hold secrets, so only people and their keys with full access manage them. @throws ToolError */
export function requireOperator(principal: Principal, fail: Fail<never>): void {
  requireWithinRights(principal, { fullAccess: true });
  if (principal.type === 'session' || principal.type === 'api-key') return;
  throw fail('forbidden', 'Insufficient permissions', {
    issues: [{ path: '', message: `Integrations are never managed by a principal of the type ${principal.type}.` }],
  });
}

const PROGRAM = ['command', 'args', 'env'] as const;

/** A program that a credential sets up would continue running after the credential has ended. @throws ToolError (forbidden) */
export function requireLasting(principal: Principal, { transport, ...given }: TargetInput): void {
  const isProgram = transport === 'stdio' && PROGRAM.some((member) => given[member] !== undefined);
  if (isProgram) requireWithinRights(principal, { lifetime: 'never' });
}

export function requireMembers(input: TargetInput, fail: Fail<never>): void {
  const other = input.transport === 'stdio' ? 'http' : 'stdio';
  const issues = OF[other].flatMap((member): Issue[] =>
    input[member] === undefined
      ? []
      : [{ path: member, message: `Is for the transport ${other}, and this one is ${input.transport}.` }],
  );
  if (issues[0]) throw fail('invalid_input', `${issues[0].path}: ${issues[0].message}`, { issues });
}

export function requireTarget(input: TargetInput, fail: Fail<never>): void {
  const [member] = OF[input.transport];
  if (input[member] !== undefined) return;
  const message = `The transport ${input.transport} requires it.`;
  throw fail('invalid_input', `${member}: ${message}`, { issues: [{ path: member, message }] });
}

export async function requireAllowed(input: TargetInput, upstreams: Upstreams, fail: Fail<never>): Promise<void> {
  const message = await upstreams.refusal(input);
  if (message === undefined) return;
  const [path] = OF[input.transport];
  throw fail('invalid_input', `${path}: ${message}`, { issues: [{ path, message }] });
}

/** A secret is sent only to the target it was given for, so with another target it must be given again. @throws ToolError */
export function requireOwnSecrets(current: IntegrationRecord, change: Omit<TargetInput, 'transport'>): void {
  const member = current.transport === 'stdio' ? 'env' : 'headers';
  const kept = keptNames(current[member], change[member]);
  if (kept.length === 0 || !moves(current, change)) return;
  const issues = kept.map((name) => ({
    path: `${member}.${name}`,
    message: 'Was given for another target; give it again, or leave it out of what you give.',
  }));
  throw new ToolError('invalid_input', `${member}: secrets are for the target they were given for; give them again.`, {
    issues,
  });
}

function keptNames(current: Secrets = {}, given: Secrets | null | undefined): string[] {
  if (given === undefined) return Object.keys(current);
  return Object.entries(given ?? {}).flatMap(([name, value]) => (value === SECRET_MASK ? name : []));
}

/** Whether the change sends what the integration sends to another server or program. */
export function moves(current: IntegrationRecord, { command, args, url }: Omit<TargetInput, 'transport'>): boolean {
  if (current.url !== undefined) return url !== undefined && new URL(url).origin !== new URL(current.url).origin;
  const otherArgs = args !== undefined && JSON.stringify(args ?? []) !== JSON.stringify(current.args ?? []);
  return otherArgs || (command !== undefined && command !== current.command);
}

/** Names of the integration's tools that other tools already have. Only for an integration without a prefix. */
export async function takenNames(
  { id }: IntegrationRecord,
  tools: readonly ToolDefinition[],
  { upstreams, store }: { readonly upstreams: Upstreams; readonly store: Pick<Readers, 'integrations'> },
) {
  const { records } = await store.integrations.find({ limit: MOST_INTEGRATIONS });
  const holderOf = upstreams.nameHolder(
    records.filter((record) => record.id !== id),
    true,
  );
  return tools.flatMap(({ name }) => {
    const tool = shownName('', name);
    const holder = holderOf(tool);
    return holder === undefined ? [] : [{ tool, holder }];
  });
}

/** Checks the tool names of an integration without a prefix. @throws ToolError that names those that are taken or not allowed */
export async function requireFreeNames(
  current: IntegrationRecord,
  upstreams: Upstreams,
  store: Pick<Readers, 'integrations'>,
): Promise<void> {
  const taken = await takenNames(current, current.approved, { upstreams, store });
  if (taken.length === 0) return;
  const names = taken.slice(0, 10).map(({ tool, holder }) => `${tool} (${holder})`);
  const message = `These names of its tools are taken: ${names.join(', ')}; keep a prefix.`;
  throw new ToolError('conflict', `toolPrefix: ${message}`, { issues: [{ path: 'toolPrefix', message }] });
}

export const MOST_INTEGRATIONS = 50;

export function prefixFrom(name: string, fail: Fail<never>): string {
  const words =
    name
      .normalize('NFKD')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? [];
  const prefix = words
    .join('-')
    .replace(/^[^a-z]+/, '')
    .slice(0, 24)
    .replace(/-+$/, '');
  if (prefix) return prefix;
  const message = 'Give one: the name has no letters from a to z to make it from.';
  throw fail('invalid_input', `toolPrefix: ${message}`, { issues: [{ path: 'toolPrefix', message }] });
}

type ProgramChange = Pick<IntegrationRecord, 'id'> & {
  readonly [Member in 'command' | 'args' | 'env' | 'enabled']?: unknown;
};

export async function startsProgram(
  { id, command, args, env, enabled }: ProgramChange,
  { integrations }: Pick<Readers, 'integrations'>,
): Promise<boolean> {
  if (command === undefined && args === undefined && env === undefined && enabled !== true) return false;
  return (await integrations.get(id))?.transport === 'stdio';
}
