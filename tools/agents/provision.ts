import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import { type A2pStatus, a2pStatus } from '../../resources/agent-identity.ts';
import { expectedRevision, plainLine } from '../../resources/fields.ts';
import { secret } from '../../resources/markers.ts';
import { defineTool, type Fail, UPDATES } from '../core/registry/define-tool.ts';
import { agentAnswer, showAgent } from './agent-answer.ts';
import { agentId } from './agents.ts';

const phone = z.strictObject({
  number: secret(plainLine(z.string().trim().min(1).max(40)))
    .optional()
    .describe('As the provider assigned it. Masked in answers.'),
  a2pStatus: a2pStatus.optional().describe('unregistered → pending → registered, and back to unregistered.'),
});
const card = z.strictObject({
  cardRef: secret(plainLine(z.string().trim().min(1).max(200)))
    .optional()
    .describe('Masked in answers.'),
});

const released = z.enum(['phone', 'card']);

const NEXT_STATUS: Readonly<Record<A2pStatus, readonly A2pStatus[]>> = {
  unregistered: ['pending'],
  pending: ['registered', 'unregistered'],
  registered: ['unregistered'],
};

export const provisionAgentIdentity = defineTool({
  name: 'provision_agent_identity',
  title: 'Provision agent identity',
  description:
    'Record the phone number, its A2P registration and the card reference that the operator obtained from a provider, or release them. Returns the agent, masked.',
  keywords: 'phone number, SMS, A2P 10DLC, payment card, virtual card, telephony',
  access: { scope: 'admin', grant: 'agent:provision:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: agentId,
    phone: phone.optional(),
    card: card.optional(),
    release: z
      .array(released)
      .min(1)
      .max(2)
      .optional()
      .describe(
        'What was given back to its provider: its number or reference goes, and a2pStatus is unregistered again.',
      ),
    expectedRevision,
  }),
  output: agentAnswer,
  errors: ['not_found', 'conflict'],

  async handler({ id, phone, card, release, expectedRevision }, { store, fail, server }) {
    if (!phone && !card && !release) throw fail('invalid_input', 'Give phone, card, release or several of them.');
    const agent = await store.agents.read(id);
    if (agent.status === 'deleted') throw fail('conflict', 'The agent is deleted; revive it first with update_agent.');
    const identity = withoutReleased(agent.identity, release ?? []);
    if (phone?.a2pStatus) requireStep(identity, phone.a2pStatus, fail);
    const change = {
      ...identity,
      ...(phone && { phone: { ...(identity?.phone ?? { enabled: false }), ...phone } }),
      ...(card && { card: { ...(identity?.card ?? { enabled: false }), ...card } }),
    };
    const changed = Object.keys(change).length > 0 ? { identity: change } : {};
    return showAgent(await store.agents.update(id, changed, { expectedRevision }), server);
  },
});

/** A released channel is off. What clients chose about it stays. */
function withoutReleased(
  identity: Agent['identity'],
  release: readonly z.output<typeof released>[],
): Agent['identity'] {
  if (!identity) return undefined;
  const { phone, card } = identity;
  const { number: _, ...phoneLeft } = phone ?? { enabled: false };
  const { cardRef: __, ...cardLeft } = card ?? { enabled: false };
  const status = phone?.a2pStatus && { a2pStatus: 'unregistered' as const };
  return {
    ...identity,
    ...(phone && release.includes('phone') && { phone: { ...phoneLeft, enabled: false, ...status } }),
    ...(card && release.includes('card') && { card: { ...cardLeft, enabled: false } }),
  };
}

function requireStep(identity: Agent['identity'], next: A2pStatus, fail: Fail<'conflict'>): void {
  const current = identity?.phone?.a2pStatus ?? 'unregistered';
  if (next === current || NEXT_STATUS[current].includes(next)) return;
  throw fail('conflict', `a2pStatus is ${current}; from there it can become ${NEXT_STATUS[current].join(' or ')}.`);
}
