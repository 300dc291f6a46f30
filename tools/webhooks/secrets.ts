import { randomBytes } from 'node:crypto';
import type { WebhookRecord } from '../../resources/webhook.ts';
import type { SecretBox } from '../core/sealing/secrets.ts';

const PREFIX = 'whsec_';
const BYTES = 32;

export function newSecret(id: string, box: SecretBox) {
  const secret = `${PREFIX}${randomBytes(BYTES).toString('base64')}`;
  return { secret, members: { secret: box.seal(secret, placeOf(id)) } };
}

/** The secrets that sign now: that of the webhook, and during a grace period the one before. */
export function signingSecrets({ id, secret, former }: WebhookRecord, box: SecretBox, now: Date): string[] {
  const sealed = [secret, former && Date.parse(former.until) > now.getTime() ? former.secret : undefined];
  return sealed.flatMap((text) => (text === undefined ? [] : [box.open(text, placeOf(id))]));
}

export function reencryptedSecrets(
  { id, secret, former }: WebhookRecord,
  box: SecretBox,
): Partial<WebhookRecord> | undefined {
  const next = secret && box.renew(secret, placeOf(id));
  const formerNext = former && box.renew(former.secret, placeOf(id));
  if (!next && !formerNext) return undefined;
  return { ...(next && { secret: next }), ...(former && formerNext && { former: { ...former, secret: formerNext } }) };
}

function placeOf(id: string): string {
  return `${id} webhook secret`;
}
