import type { Grant } from './grants.ts';
import type { Principal } from './principal.ts';
import { grantRights } from './rights.ts';
import type { ToolLimit } from './tool-limit.ts';

/** The only tool of such a principal. */
export const WEBHOOK_TOOL = 'receive_webhook';

const RECEIVING: ToolLimit = {
  holder: 'the webhooks of flows',
  fingerprint: 'webhook',
  allows: ({ name }) => name === WEBHOOK_TOOL,
};

/** The sender of a delivery signed with the secret of the flow's webhook. It may trigger that flow and nothing else. */
export function webhookPrincipal(flowId: string, sender: string): Principal {
  const grants: readonly Grant[] = [{ resource: 'flow', op: 'trigger', id: flowId }];
  return {
    type: 'webhook',
    id: flowId,
    name: `${sender} webhook`,
    scopes: [],
    grants,
    ownerId: '',
    rights: grantRights(grants),
    tools: RECEIVING,
  };
}
