import { z } from 'zod';
import { isWebAddress, plainLine, WEB_ADDRESS } from './fields.ts';
import { serverManaged } from './markers.ts';

/** Answers show this in place of a phone number or card reference that is set. */
export const IDENTITY_MASK = '•••';

const text = z.string().max(2000);
const url = z.string().max(2000);
const line = plainLine(text);
const webAddress = url.refine(isWebAddress, WEB_ADDRESS).describe('An http or https URL.');

function mailingAddressOf(part: z.ZodString) {
  const optional = part.optional();
  return {
    line1: optional,
    line2: optional,
    city: optional,
    region: optional,
    postalCode: optional,
    country: optional,
  };
}
const phoneProvider = z.enum(['telephony-provider']);
const railId = z.enum(['card-rail-a', 'card-rail-b', 'card-rail-c']);
const voiceMode = z.enum(['browser', 'phone']);
const spendLimitUsd = z.number().min(0).describe('US dollars.');

export const a2pStatus = z.enum(['unregistered', 'pending', 'registered']);
export type A2pStatus = z.infer<typeof a2pStatus>;

/** The persona and channels of an agent. Answers carry it with `phone.number` and `card.cardRef` masked as `•••`. */
export const agentIdentity = z.object({
  displayName: text.optional(),
  avatarUrl: url.optional(),
  bio: text.optional(),
  signature: text.optional(),
  mailingAddress: z.object(mailingAddressOf(text)).optional(),
  socials: z
    .array(z.object({ platform: text, url }))
    .max(20)
    .optional(),
  email: z.object({ alias: z.string().min(1).optional() }).optional(),
  phone: z
    .object({
      enabled: z.boolean(),
      number: z.string().optional().describe('`•••` when set.'),
      provider: phoneProvider.optional(),
      a2pStatus: a2pStatus.optional(),
    })
    .optional(),
  card: z
    .object({
      enabled: z.boolean(),
      railId: railId.optional(),
      cardRef: z.string().optional().describe('`•••` when set.'),
      spendLimitUsd: spendLimitUsd.optional(),
    })
    .optional(),
  voice: z.object({ enabled: z.boolean(), mode: voiceMode.optional(), ttsProvider: text.optional() }).optional(),
  walletPayHandle: text.optional().describe('Public, permanent wallet handle.'),
});
export type AgentIdentity = z.infer<typeof agentIdentity>;

const phoneInput = z.strictObject({ enabled: z.boolean(), provider: phoneProvider.optional() });
const cardInput = z.strictObject({
  enabled: z.boolean(),
  railId: railId.optional(),
  spendLimitUsd: spendLimitUsd.optional(),
});
export const provisioned = 'is managed by the server; provision_agent_identity records it';
serverManaged.add(phoneInput, { members: { number: provisioned, a2pStatus: provisioned } });
serverManaged.add(cardInput, { members: { cardRef: provisioned } });

/** The members of an identity that clients write on create. */
export const agentIdentityInput = z.strictObject({
  displayName: line.optional(),
  avatarUrl: webAddress.optional(),
  bio: text.optional(),
  signature: text.optional(),
  mailingAddress: z.strictObject(mailingAddressOf(line)).optional(),
  socials: z
    .array(z.strictObject({ platform: line, url: webAddress }))
    .max(20)
    .optional(),
  email: z.strictObject({ alias: plainLine(z.string().min(1).max(320)).optional() }).optional(),
  phone: phoneInput.optional(),
  card: cardInput.optional(),
  voice: z.strictObject({ enabled: z.boolean(), mode: voiceMode.optional(), ttsProvider: line.optional() }).optional(),
  walletPayHandle: line.optional(),
});

const asShown = z
  .literal(IDENTITY_MASK, { error: `It ${provisioned}; leave it out, or give ${IDENTITY_MASK} to keep it.` })
  .optional();

/** An identity as it was read can be written back. */
const updatable = agentIdentityInput.extend({
  phone: phoneInput.extend({ number: asShown, a2pStatus: a2pStatus.optional() }).optional(),
  card: cardInput.extend({ cardRef: asShown }).optional(),
});

/** The members of an identity on update: each given member replaces the whole old one, `null` clears it. */
export const agentIdentityPatch = z.strictObject(
  Object.fromEntries(
    Object.entries(updatable.shape).map(([name, schema]) => [name, schema.unwrap().nullable().optional()]),
  ) as {
    [K in keyof typeof updatable.shape]: z.ZodOptional<
      z.ZodNullable<ReturnType<(typeof updatable.shape)[K]['unwrap']>>
    >;
  },
);
