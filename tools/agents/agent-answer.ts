import { z } from 'zod';
import { type Agent, agent } from '../../resources/agent.ts';
import {
  type AgentIdentity,
  type agentIdentityInput,
  type agentIdentityPatch,
  IDENTITY_MASK,
  provisioned,
} from '../../resources/agent-identity.ts';
import type { Issue } from '../../resources/error.ts';
import { allowlistWarnings } from '../core/access/allowlist.ts';
import { askFirstWarnings } from '../core/access/ask-first.ts';
import { nearest } from '../core/access/similar-names.ts';
import type { Models } from '../core/models/models.ts';
import type { ServerContext } from '../core/registry/context.ts';

export const agentAnswer = agent.extend({
  warnings: z
    .array(z.string())
    .optional()
    .describe('Entries of `tools` and `askFirst` that match no tool now, and a model that is not there now.'),
});

/** Makes every answer with an agent: secrets masked, with warnings about its allowlist and its model. */
export function showAgent(record: Agent, { catalog, models }: AgentFacts): z.input<typeof agentAnswer> {
  const idle = record.tools ? allowlistWarnings(record.tools, catalog) : [];
  const warnings = [...idle, ...askFirstWarnings(record.askFirst, catalog), ...modelWarnings(record, models)];
  return warnings.length > 0 ? { ...maskAgent(record), warnings } : maskAgent(record);
}

type AgentFacts = Pick<ServerContext, 'catalog' | 'models'>;

/** Models come and go with their providers, so an unknown model is a warning and no error. */
function modelWarnings({ modelPreference, fallbackModels = [] }: Agent, models: Models): string[] {
  const missing = fallbackModels.filter((id) => !models.has(id)).map((id) => JSON.stringify(id));
  const skipped =
    missing.length > 0 ? [`fallbackModels: there is no model ${missing.join(', ')} now; it is skipped.`] : [];
  return [...preferenceWarnings(modelPreference, models), ...skipped];
}

function preferenceWarnings(id: string | undefined, models: Models): string[] {
  if (id === undefined || models.has(id)) return [];
  const close = nearest(id, models.known(), 3);
  const hint = close.length > 0 ? `similar ones: ${close.join(', ')}` : 'list_models shows those there are';
  return [
    `modelPreference: there is no model ${JSON.stringify(id)} now, and until there is the agent cannot run; ${hint}.`,
  ];
}

/** The identity as every door shows it: what the operator keeps secret is masked. */
function maskIdentity(identity: AgentIdentity): AgentIdentity {
  const { phone, card } = identity;
  return {
    ...identity,
    ...(phone && { phone: { ...phone, ...(phone.number !== undefined && { number: IDENTITY_MASK }) } }),
    ...(card && { card: { ...card, ...(card.cardRef !== undefined && { cardRef: IDENTITY_MASK }) } }),
  };
}

export function maskAgent<Shown extends Pick<Agent, 'identity'>>(agent: Shown): Shown {
  return agent.identity ? { ...agent, identity: maskIdentity(agent.identity) } : agent;
}

type Written = z.output<typeof agentIdentityInput> | z.output<typeof agentIdentityPatch>;

/** The identity after a client's change: given members are merged, null clears, and members that only the server writes stay. */
export function mergeIdentity(current: AgentIdentity | undefined, change: Written): AgentIdentity {
  const merged = { ...current, ...change };
  const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null && value !== undefined));
  return withServerManaged(kept as AgentIdentity, current); // the nulls of the change are removed
}

/** Problems of a change that would touch what only the server writes. Written as it is shown, it stays. */
export function managedIssues(
  current: AgentIdentity | undefined,
  change: z.output<typeof agentIdentityPatch>,
): Issue[] {
  const shown = current ? maskIdentity(current) : {};
  const members = [
    ['phone.number', change.phone?.number, shown.phone?.number],
    ['phone.a2pStatus', change.phone?.a2pStatus, shown.phone?.a2pStatus],
    ['card.cardRef', change.card?.cardRef, shown.card?.cardRef],
  ] as const;
  return members.flatMap(([name, given, kept]) => {
    if (given === undefined || given === kept) return [];
    const what = kept === undefined ? 'There is no stored value to keep: it' : 'It';
    return [{ path: `identity.${name}`, message: `${what} ${provisioned}.` }];
  });
}

/** The identity, but with the current values of the members that only the server writes. */
export function withServerManaged(identity: AgentIdentity, current: AgentIdentity | undefined): AgentIdentity {
  const { phone, card, ...rest } = identity;
  const number = current?.phone?.number;
  const status = current?.phone?.a2pStatus;
  const cardRef = current?.card?.cardRef;
  const { number: _, a2pStatus: __, ...plainPhone } = phone ?? { enabled: false };
  const { cardRef: ___, ...plainCard } = card ?? { enabled: false };
  const managedPhone = { ...(number !== undefined && { number }), ...(status !== undefined && { a2pStatus: status }) };
  const managedCard = { ...(cardRef !== undefined && { cardRef }) };
  return {
    ...rest,
    ...((phone || number !== undefined || status !== undefined) && { phone: { ...plainPhone, ...managedPhone } }),
    ...((card || cardRef !== undefined) && { card: { ...plainCard, ...managedCard } }),
  };
}
