import type { Flow, FlowSignature, FlowTriggerInput, WebhookScheme } from '../../resources/flow.ts';
import type { FlowSecretRecord } from '../../resources/flow-secret.ts';
import { SECRET_MASK } from '../../resources/integration.ts';
import type { Writers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { ToolError } from '../core/errors.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';
import { isRunAs } from './run-as.ts';

type Trigger = Flow['trigger'];
type Secrets = Pick<Writers, 'flowSecrets'>;

export interface SecretInput {
  readonly scheme: WebhookScheme;
  readonly secret: string;
}

/** Where the sealed secret of the flow's webhook is stored: it can be opened for no other flow. */
export function flowSecretContext(flowId: string): string {
  return `flow ${flowId} webhook`;
}

export function signatureOf({ trigger }: { readonly trigger: Trigger }): FlowSignature | undefined {
  return trigger.kind === 'webhook' ? trigger.signature : undefined;
}

interface Written {
  readonly trigger: Trigger;
  /** To be sealed and stored beside the flow. */
  readonly given?: SecretInput;
}

/** The trigger of a webhook as it is stored: with the mask in place of the secret. @throws ToolError (invalid_input) */
export function writtenWebhook(
  { signature }: Extract<FlowTriggerInput, { kind: 'webhook' }>,
  current: Pick<Flow, 'trigger'> | undefined,
  now: Date,
): Written {
  const kind = 'webhook';
  if (!signature) return { trigger: { kind } };
  const { scheme, secret } = signature;
  if (secret !== SECRET_MASK) {
    requireUsable(signature);
    return { trigger: { kind, signature: maskedSignature(scheme, now.toISOString()) }, given: signature };
  }
  const before = current && signatureOf(current);
  if (before?.secret === undefined)
    throw refusal(`There is no stored value for ${SECRET_MASK} to keep; give the secret.`);
  if (before.scheme !== scheme) throw refusal(`It was given for ${before.scheme}; give the one for ${scheme}.`);
  return { trigger: { kind, signature: before } };
}

function maskedSignature(scheme: WebhookScheme, givenAt: string): FlowSignature {
  return { scheme, secret: SECRET_MASK, givenAt };
}

/** Standard Webhooks writes keys in base64, the others use the text itself. */
export function keyOf({ scheme, secret }: SecretInput): Buffer {
  if (scheme !== 'standard') return Buffer.from(secret);
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}

const BASE64 = /^(?:whsec_)?(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** In bytes; Standard Webhooks asks for 24. */
const SHORTEST_KEY = 16;

function requireUsable(given: SecretInput): void {
  if (given.scheme !== 'standard') return;
  if (BASE64.test(given.secret) && keyOf(given).length >= SHORTEST_KEY) return;
  throw refusal(
    `For standard, write the secret as its sender shows it: whsec_ and at least ${SHORTEST_KEY} bytes in base64.`,
  );
}

/** Changing what a webhook runs requires its secret, which belongs to the principal of the runs. @throws ToolError (invalid_input) */
export function requireKnownSecret(
  principal: Principal,
  { runAs }: Pick<Flow, 'runAs'>,
  { trigger, given }: Written,
): void {
  if (signatureOf({ trigger })?.secret === undefined || given || isRunAs(principal, runAs)) return;
  throw refusal(
    `Changing what this webhook runs requires its secret, because its runs act for ${runAs.name}; give the secret with this change.`,
  );
}

function refusal(message: string): ToolError {
  const path = 'trigger.signature.secret';
  return new ToolError('invalid_input', `${path}: ${message}`, { issues: [{ path, message }] });
}

/** Stores a secret that was given, and removes the one of a flow that takes no signed deliveries any more. */
export async function saveSecret(
  { flowSecrets }: Secrets,
  flow: Pick<Flow, 'id' | 'trigger'>,
  { given, box }: { readonly given: SecretInput | undefined; readonly box: SecretBox | undefined },
): Promise<void> {
  const { id } = flow;
  const before = await flowSecrets.get(id);
  const { givenAt } = signatureOf(flow) ?? {};
  if (before && !signatureOf(flow)) await flowSecrets.delete(id);
  if (!given || givenAt === undefined) return;
  if (!box) throw new ToolError('unavailable', 'This server keeps no secrets.');
  const kept = { scheme: given.scheme, sealed: box.seal(given.secret, flowSecretContext(id)), givenAt };
  if (before) await flowSecrets.update(id, kept);
  else await flowSecrets.insert({ id, ...kept });
}

/** A trigger of an earlier state, with the secret that is kept today in place of that of then. */
export function withCurrentSecret(trigger: Trigger, kept: FlowSecretRecord | undefined): Trigger {
  const signature = signatureOf({ trigger });
  if (!signature) return trigger;
  const today = kept ? maskedSignature(kept.scheme, kept.givenAt) : { scheme: signature.scheme };
  return { kind: 'webhook', signature: today };
}
