import { z } from 'zod';
import { OWNER } from '../../resources/admin-user.ts';
import { pageOf, paging, plainLine, recordId } from '../../resources/fields.ts';
import { refTo, secret } from '../../resources/markers.ts';
import { type Passkey, type PasskeyRecord, passkey, passkeyFields } from '../../resources/passkey.ts';
import type { Readers } from '../../store/port.ts';
import { requireWithinRights } from '../core/access/delegation.ts';
import { requireFresh } from '../core/access/fresh-sign-in.ts';
import { hasRight, isOwn, listFilter, requireOwner } from '../core/access/ownership.ts';
import { isSession, type Principal } from '../core/access/principal.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from '../core/registry/define-tool.ts';
import { listPage } from '../core/registry/paging.ts';
import { useToken } from './open-sessions.ts';

/** As many as somebody has devices, and one page of them. */
export const MOST_PASSKEYS = 20;

const passkeyId = refTo('passkey', recordId).describe('Passkey id (`psk_…`), see list_passkeys.');

const listPasskeys = defineTool({
  name: 'list_passkeys',
  title: 'List passkeys',
  description:
    'List the passkeys that people sign in with, newest first, with name and last use. Without admin rights: your own.',
  keywords: 'WebAuthn, security keys, YubiKey, fingerprint, Face ID, Touch ID, passwordless, two-factor',
  access: { scope: 'admin', grant: 'passkey:read', narrows: true },
  annotations: READS,
  own: true,
  forPeople: true,
  input: z.strictObject({
    userId: refTo('admin-user', recordId).optional().describe('Only those of this admin user.'),
    ...paging,
  }),
  output: pageOf(passkey),
  errors: [],

  handler({ userId, ...page }, { store, principal }) {
    const any = listFilter<PasskeyRecord>(principal, 'passkey', { userId: principal.ownerId });
    return listPage(store.passkeys, page, { where: { userId }, any }, showPasskey);
  },
});

/** Only the page on which the browser made it calls it: its secret shows that it is the browser that was asked. */
const createPasskey = defineTool({
  name: 'create_passkey',
  title: 'Add passkey',
  description: 'Add a passkey that your browser made, to sign in with. Returns it.',
  access: { scope: 'admin', grant: 'passkey:write' },
  annotations: CREATES,
  lasting: { what: 'credential' },
  own: true,
  forPeople: true,
  doorOnly: true,
  inSteps: true,
  input: z.strictObject({
    name: plainLine(passkeyFields.name),
    answer: secret(plainLine(z.string().max(16_000)).describe('Of the browser, as JSON.')),
    browser: secret(plainLine(z.string().max(100))),
  }),
  output: passkey,
  errors: ['conflict'],

  async handler({ name, answer, browser }, { store, principal, server, write, fail }) {
    if (!isSession(principal)) throw fail('forbidden', 'A passkey is added by the person who is signed in.');
    if (!server.signIn) throw fail('unavailable', 'Nobody can sign in to this server.');
    await requireAddable(principal, store);
    const { ownerId: userId } = principal;
    const made = await server.signIn.passkeys.checkMade(answer, { step: 'register', browser, userId });
    return write(async (writers) => {
      await useToken(writers, made.challenge);
      const { records } = await writers.passkeys.find({ where: { userId }, limit: MOST_PASSKEYS });
      if (records.length >= MOST_PASSKEYS) {
        throw fail('conflict', `You have ${MOST_PASSKEYS} passkeys, as many as there can be; remove one first.`);
      }
      return showPasskey(await writers.passkeys.insert({ name, ...made.record }));
    });
  },
});

/** A passkey would stay after an expiring key whose link began the session. @throws ToolError (forbidden) */
export async function requireAddable(principal: Principal, store: Readers): Promise<void> {
  await requireFresh(principal, createPasskey, {}, store);
  requireWithinRights(principal, { lifetime: 'never' });
}

const renamePasskey = defineTool({
  name: 'rename_passkey',
  title: 'Rename passkey',
  description: 'Give a passkey of your own another name. Returns it.',
  keywords: 'label a security key, name a YubiKey',
  access: { scope: 'admin', grant: 'passkey:write:{id}' },
  annotations: UPDATES,
  own: true,
  forPeople: true,
  input: z.strictObject({ id: passkeyId, name: plainLine(passkeyFields.name) }),
  output: passkey,
  errors: ['not_found'],

  async handler({ id, name }, { store, principal, fail }) {
    const found = await store.passkeys.get(id);
    if (!isOwn(principal, found?.userId)) throw fail('not_found', `You have no passkey ${id}; see list_passkeys.`);
    return showPasskey(await store.passkeys.update(id, { name }));
  },
});

const deletePasskey = defineTool({
  name: 'delete_passkey',
  title: 'Remove passkey',
  description:
    'Remove a passkey, so that nobody signs in with it any more: your own, or with full access that of somebody else. Sessions go on. Returns it as it was.',
  keywords: 'lost security key, remove a YubiKey, unregister a fingerprint',
  access: { scope: 'admin', grant: 'passkey:write:{id}', fullAccess: true },
  annotations: DELETES,
  lasting: { what: 'credential' },
  own: true,
  forPeople: true,
  input: z.strictObject({ id: passkeyId }),
  output: passkey,
  errors: ['not_found'],

  async handler({ id }, { store, principal, fail }) {
    const found = await store.passkeys.get(id);
    const unknown = () => fail('not_found', `There is no passkey ${id}; list_passkeys shows the ones you can see.`);
    if (!isOwn(principal, found?.userId)) {
      if (!hasRight(principal, 'passkey', 'write', id)) throw unknown();
      requireWithinRights(principal, { fullAccess: true });
      if (!found) throw unknown();
      const user = await store.adminUsers.get(found.userId);
      if (user?.role === OWNER) await requireOwner(store, principal);
    }
    return showPasskey(await store.passkeys.delete(id));
  },
});

export const passkeyTools = [listPasskeys, createPasskey, renamePasskey, deletePasskey];

function showPasskey({
  credentialId: _,
  publicKey: __,
  counter: ___,
  transports: ____,
  ...shown
}: PasskeyRecord): Passkey {
  return shown;
}
