import { z } from 'zod';
import { timestamp } from '../resources/fields.ts';
import { formatGrant } from './core/access/grants.ts';
import { ANYONE } from './core/access/guarded-tool.ts';
import { chainOf, isSession, type Principal } from './core/access/principal.ts';
import { defineTool, READS } from './core/registry/define-tool.ts';

const rights = {
  scopes: z.array(z.string()),
  grants: z.array(z.string()).optional().describe('If present, only grants are checked and scopes are ignored.'),
};

export const getCurrentPrincipal = defineTool({
  name: 'get_current_principal',
  title: 'Get current principal',
  description: 'Tell who you are calling as, what that may do and until when.',
  keywords:
    'who am I, whoami, my rights, my scopes, what may this token do, my account, who am I, which rights do I have, test my token',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({
    type: z.enum(['session', 'api-key', 'app', 'capsule', 'agent', 'flow']),
    id: z.string().describe('Of a session: the admin user who is signed in.'),
    name: z.string(),
    email: z.string().optional().describe('Of the person who is signed in.'),
    ...rights,
    limitedTo: z.object(rights).optional().describe('The limit of the person it acts for, which counts besides.'),
    isAdmin: z.boolean().describe('Full access.'),
    onBehalfOf: z
      .array(z.object({ type: z.string(), id: z.string(), name: z.string() }))
      .optional()
      .describe('Whose rights it has, narrowed; nearest first.'),
    expiresAt: timestamp.optional().describe('When the session or credential ends.'),
    freshUntil: timestamp.optional().describe('Of a session: until then, calls that need a fresh sign-in are allowed.'),
  }),
  errors: [],

  async handler(_, { store, principal, fail }) {
    const { type, id, name, limitedBy, expiresAt } = principal;
    if (type === 'anonymous' || type === 'webhook') throw fail('forbidden', 'Insufficient permissions');
    const person = type === 'session' ? await store.adminUsers.get(id) : undefined;
    const behind = chainOf(principal).map((other) => ({ type: other.type, id: other.id, name: other.name }));
    return {
      type,
      id,
      name,
      ...(person && { email: person.email }),
      ...shown(principal),
      ...(limitedBy && { limitedTo: shown(limitedBy) }),
      isAdmin: principal.rights.isAdmin,
      ...(behind.length > 0 && { onBehalfOf: behind }),
      ...(expiresAt !== undefined && { expiresAt }),
      ...(isSession(principal) && principal.freshUntil !== undefined && { freshUntil: principal.freshUntil }),
    };
  },
});

function shown({ scopes, grants }: Pick<Principal, 'scopes' | 'grants'>) {
  return { scopes: [...scopes], ...(grants && { grants: grants.map(formatGrant) }) };
}
