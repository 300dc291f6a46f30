import { startAuthentication, startRegistration } from '@simplewebauthn/browser';
import { renew } from './answer-cache.ts';
import { boot } from './boot.ts';
import { CallError, confirmed } from './client.ts';
import { at } from './router.ts';

/** What the sign-in pages answer to scripts. @throws CallError */
async function ask<Answer>(path: string, fields?: Readonly<Record<string, string>>): Promise<Answer> {
  const response = await fetch(at(path), {
    method: fields ? 'POST' : 'GET',
    credentials: 'same-origin',
    headers: { Accept: 'application/json' },
    body: fields ? new URLSearchParams({ form: boot.formToken, ...fields }) : null,
  });
  const body = await response.json();
  if (!response.ok) throw new CallError(path, response.status === 401 ? { ...body, error: NOT_ACCEPTED } : body);
  return body as Answer; // whoever asks knows what the path answers
}

const NOT_ACCEPTED =
  'This passkey was not accepted. It may have been removed here, or be that of somebody else: try another one, or sign in again.';

/** Makes a passkey in this browser, under the name that it is then listed with. @throws CallError, or what the browser says */
export async function addPasskey(name: string): Promise<void> {
  const optionsJSON = await confirmed(() => ask<Parameters<typeof startRegistration>[0]['optionsJSON']>(NEW));
  const answer = JSON.stringify(await startRegistration({ optionsJSON }));
  await ask(NEW, { name, answer });
  renew('create_passkey');
}

const NEW = '/sign-in/passkey/new';

/** Shows by a passkey that it is still the person who signed in. @throws CallError, or what the browser says */
export async function confirmWithPasskey(): Promise<void> {
  const optionsJSON = await ask<Parameters<typeof startAuthentication>[0]['optionsJSON']>(CONFIRM);
  await ask(CONFIRM, { answer: JSON.stringify(await startAuthentication({ optionsJSON })) });
}

const CONFIRM = '/sign-in/passkey/confirm';

/** What the server knows of whoever is signed in in this browser. */
interface SignedIn {
  readonly userId?: string;
  readonly freshUntil?: string;
  /** How many the person has. */
  readonly passkeys?: number;
  /** Why there are none at this address. */
  readonly passkeyProblem?: string;
}

/** @throws CallError if nobody is signed in any more, or somebody else */
export async function signedInNow(): Promise<SignedIn> {
  const state = await ask<SignedIn>('/sign-in/state');
  if (state.userId === boot.user.id) return state;
  throw new CallError('', { code: 'failed', error: state.userId === undefined ? NOBODY : SOMEBODY_ELSE });
}

const NOBODY = 'You are signed out by now. Sign in again; this page keeps what you typed.';
const SOMEBODY_ELSE = 'Somebody else is signed in in this browser by now. Copy what you typed and load the page again.';
