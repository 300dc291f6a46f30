import { z } from 'zod';
import type { Agent } from '../../resources/agent.ts';
import { type A2pStatus, a2pStatus } from '../../resources/agent-identity.ts';
import { expectedRevision, plainLine } from '../../resources/fields.ts';
import { secret } from '../../resources/markers.ts';
import { defineTool, type Fail, UPDATES } from '../define-tool.ts';
import { agentAnswer, agentId, findAgent, showAgent } from './agents.ts';

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

const NEXT_STATUS: Readonly<Record<A2pStatus, readonly A2pStatus[]>> = {
  unregistered: ['pending'],
  pending: ['registered', 'unregistered'],
  registered: ['unregistered'],
};

export const provisionAgentIdentity = defineTool({
  name: 'provision_agent_identity',
  title: 'Provision agent identity',
  description:
    'Record the phone number, its A2P registration and the card reference that the operator obtained from a provider. Returns the agent, masked.',
  access: { scope: 'admin', grant: 'agent:provision:{id}' },
  annotations: UPDATES,
  input: z.strictObject({ id: agentId, phone: phone.optional(), card: card.optional(), expectedRevision }),
  output: agentAnswer,
  errors: ['not_found', 'conflict'],

  async handler({ id, phone, card, expectedRevision }, { store, fail, server }) {
    if (!phone && !card) throw fail('invalid_input', 'Give phone, card or both.');
    const { status, identity } = await findAgent(store, id, fail);
    if (status === 'deleted') throw fail('conflict', 'The agent is deleted; revive it first with update_agent.');
    if (phone?.a2pStatus) requireStep(identity, phone.a2pStatus, fail);
    const change = {
      ...identity,
      ...(phone && { phone: { ...(identity?.phone ?? { enabled: false }), ...phone } }),
      ...(card && { card: { ...(identity?.card ?? { enabled: false }), ...card } }),
    };
    return showAgent(await store.agents.update(id, { identity: change }, { expectedRevision }), server);
  },
});

function requireStep(identity: Agent['identity'], next: A2pStatus, fail: Fail<'conflict'>): void {
  const current = identity?.phone?.a2pStatus ?? 'unregistered';
  if (next === current || NEXT_STATUS[current].includes(next)) return;
  throw fail('conflict', `a2pStatus is ${current}; from there it can become ${NEXT_STATUS[current].join(' or ')}.`);
}
