import { z } from 'zod';
import { agentFields } from '../../resources/agent.ts';
import { apiKeyFields } from '../../resources/api-key.ts';
import { capsuleFields } from '../../resources/capsule.ts';
import { agentRef, recordId } from '../../resources/fields.ts';
import { refTo } from '../../resources/markers.ts';
import type { Readers } from '../../store/port.ts';
import { requireDefinition } from '../capsules/capsule-definition.ts';
import { readRights } from '../core/access/assignable.ts';
import type { Principal } from '../core/access/principal.ts';
import { invalidMember, ToolError } from '../core/errors.ts';
import type { Catalog } from '../core/registry/catalog-index.ts';
import type { Judging } from './judge.ts';

export const reference = (ref: string, what: string) => refTo(ref, recordId).optional().describe(what);

/** The inputs that name whose calls are meant. */
export const subjectIds = {
  capsuleId: reference('capsule', 'A capsule, with the agents and apps that acted for it.'),
  keyId: reference('key', 'An API key, with the agents and flows that acted for it.'),
  agentId: agentRef.optional().describe('An agent (id or name), whoever it acted for.'),
  appId: reference('app', 'A connected app.'),
};

export const draftRights = z
  .strictObject({
    allowedTools: capsuleFields.allowedTools.optional().describe('Of a capsule.'),
    deniedTools: capsuleFields.deniedTools.optional().describe('Of a capsule.'),
    constraints: capsuleFields.constraints.nullable().optional().describe('Of a capsule; null: none.'),
    scopes: apiKeyFields.scopes.optional().describe('Of a key or an app.'),
    grants: apiKeyFields.grants.optional().describe('Of a key; empty: its scopes decide.'),
    tools: agentFields.tools.optional().describe('Of an agent.'),
  })
  .describe('What it may do, in place of its own; what is left out stays.');
export type DraftRights = z.output<typeof draftRights>;

export const subjectRef = z.object({
  type: z.enum(['capsule', 'key', 'agent', 'app']),
  id: recordId,
  name: z.string(),
});

const SUBJECTS = {
  capsuleId: { type: 'capsule', collection: 'capsules', principal: 'capsule', scope: 'admin', list: 'list_capsules' },
  keyId: { type: 'key', collection: 'apiKeys', principal: 'api-key', scope: 'admin', list: 'list_api_keys' },
  agentId: { type: 'agent', collection: 'agents', principal: 'agent', scope: 'agents:read', list: 'list_agents' },
  appId: { type: 'app', collection: 'connectedApps', principal: 'app', scope: 'admin', list: 'list_connected_apps' },
} as const;
const MEMBERS = Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]; // its own keys
const DRAFTED: Readonly<Record<Subject['type'], readonly string[]>> = {
  capsule: ['allowedTools', 'deniedTools', 'constraints'],
  key: ['scopes', 'grants'],
  agent: ['tools'],
  app: ['scopes'],
};

/** Whose recorded calls are judged. */
export interface Subject {
  readonly type: z.output<typeof subjectRef>['type'];
  readonly id: string;
  readonly name: string;
  /** The type by which audit entries name it. */
  readonly principal: string;
  readonly collection: (typeof SUBJECTS)[keyof typeof SUBJECTS]['collection'];
  readonly updatedAt: string;
}

type Naming = { readonly [member in keyof typeof SUBJECTS]?: string | undefined };

/** @throws ToolError: not exactly one is named, or there is none that the caller may read */
export async function subjectNamed(
  input: Naming,
  { store, principal }: { readonly store: Readers; readonly principal: Principal },
): Promise<Subject> {
  const [member, ...others] = MEMBERS.filter((each) => input[each] !== undefined);
  if (!member || others.length > 0) throw invalidMember(others[0] ?? 'capsuleId', `Name one of ${MEMBERS.join(', ')}.`);
  const found = SUBJECTS[member];
  const { type, collection, scope, list } = found;
  const id = input[member] ?? '';
  const mayRead = principal.rights.allows({ scope, needs: [{ resource: type, op: 'read', ids: [id] }] });
  const record = mayRead ? await store[collection].get(id) : undefined;
  if (!record) throw new ToolError('not_found', `There is no ${type} ${id} that you may read; see ${list}.`);
  const name = 'name' in record ? record.name : record.client.name;
  return { type, id: record.id, name, principal: found.principal, collection, updatedAt: record.updatedAt };
}

/** @throws ToolError that names what does not fit the subject, or what is wrong with it */
export function requireDraft({ type }: Subject, draft: DraftRights, catalog: Catalog): void {
  const other = Object.keys(draft).find((member) => !DRAFTED[type].includes(member));
  if (other !== undefined) {
    throw invalidMember(`draft.${other}`, `Is nothing that a ${type} has; give ${DRAFTED[type].join(', ')}.`);
  }
  if (type === 'capsule') {
    requireDefinition({ allowedTools: draft.allowedTools ?? [], constraints: draft.constraints ?? undefined }, catalog);
  }
  if (type === 'key' && (draft.scopes?.length || draft.grants?.length))
    readRights({ scopes: draft.scopes ?? [], grants: draft.grants }, catalog, 'draft');
}

/** The store as it would be if the subject were what the draft says. Whether its credential is over is not considered. */
export async function withDraft(
  { type, id, collection }: Subject,
  draft: DraftRights,
  { store, server }: Judging,
): Promise<Judging> {
  const { grants, constraints, ...lists } = draft;
  const changed = {
    ...lists,
    ...(grants && { grants: grants.length > 0 ? grants : undefined }),
    ...(constraints !== undefined && { constraints: constraints ?? undefined }),
    ...CURRENT[type],
  };
  const record = Object.freeze({ ...(await store[collection].read(id)), ...changed });
  const reader = overlay(store[collection], {
    get: async (asked: string) => (asked === id ? record : store[collection].get(asked)),
    read: async (asked: string) => (asked === id ? record : store[collection].read(asked)),
  });
  return { store: overlay(store, { [collection]: reader }), server };
}

/** What its credential still needs to be judged by what it may do alone. */
const CURRENT: Readonly<Record<Subject['type'], object>> = {
  capsule: { status: 'live', expiresAt: undefined, endsWith: undefined },
  key: { revokedAt: undefined, expiresAt: undefined, endsWith: undefined },
  agent: { status: 'active' },
  app: { endsWith: undefined },
};

/** The object with some members replaced. Methods of the others still run on the object itself. */
function overlay<Whole extends object>(whole: Whole, members: Readonly<Record<string, unknown>>): Whole {
  return new Proxy(whole, {
    get(target, name) {
      if (typeof name === 'string' && Object.hasOwn(members, name)) return members[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
