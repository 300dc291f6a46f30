import type { PasskeyRecord } from '../../resources/passkey.ts';
import { ToolError } from '../../tools/core/errors.ts';
import type { Purpose } from '../../tools/sign-in/challenges.ts';
import { MOST_PASSKEYS, requireAddable } from '../../tools/sign-in/passkeys.ts';
import { sendJson } from '../http/respond.ts';
import type { BrowserSessions } from './browser-sessions.ts';
import type { HandlerOptions, Handlers, PageRequest } from './page-request.ts';

/** Endpoints for the scripts that create and use passkeys. Signing in with one sends a form, like every other way in. */
export function passkeyHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  return { ...usingHandlers(options, sessions), ...addingHandlers(options, sessions) };
}

function usingHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  const { signIn } = options;
  const { passkeys } = signIn;

  async function optionsToUse({ response, browser }: PageRequest): Promise<void> {
    sendJson(response, 200, passkeys.toUse({ step: 'sign-in', browser }));
  }

  async function followPasskey(context: PageRequest): Promise<void> {
    const { form, browser, visitor } = context;
    const idToken = await signIn.redeemPasskey(form.get('answer') ?? '', { step: 'sign-in', browser }, visitor);
    await sessions.begin(context, idToken);
  }

  async function optionsToConfirm(context: PageRequest): Promise<void> {
    const { ownerId } = await sessions.require(context);
    const own = await passkeysOf(options, ownerId);
    sendJson(context.response, 200, passkeys.toUse(confirming(context, ownerId), own));
  }

  async function confirm(context: PageRequest): Promise<void> {
    const { form, response, visitor } = context;
    const principal = await sessions.require(context);
    const purpose = confirming(context, principal.ownerId);
    const idToken = await signIn.redeemPasskey(form.get('answer') ?? '', purpose, visitor);
    const { output } = await sessions.call(context, { principal, tool: 'confirm_session', input: { idToken } });
    sendJson(response, 200, output);
  }

  return {
    'GET /sign-in/passkey': optionsToUse,
    'POST /sign-in/passkey': followPasskey,
    'GET /sign-in/passkey/confirm': optionsToConfirm,
    'POST /sign-in/passkey/confirm': confirm,
  };
}

function addingHandlers(options: HandlerOptions, sessions: BrowserSessions): Handlers {
  const { passkeys } = options.signIn;

  async function optionsToAdd(context: PageRequest): Promise<void> {
    const { problem } = passkeys;
    if (problem !== undefined) throw new ToolError('unavailable', problem);
    const principal = await sessions.require(context);
    await requireAddable(principal, options.store);
    const { ownerId: userId } = principal;
    const user = await options.store.adminUsers.read(userId);
    const { workspace } = context.around;
    const making = { user, workspace, passkeys: await passkeysOf(options, userId) };
    sendJson(context.response, 200, passkeys.toMake({ step: 'register', browser: context.browser, userId }, making));
  }

  async function add(context: PageRequest): Promise<void> {
    const { form, response, browser } = context;
    const principal = await sessions.require(context);
    const input = { name: form.get('name') ?? '', answer: form.get('answer') ?? '', browser };
    const { output } = await sessions.call(context, { principal, tool: 'create_passkey', input });
    sendJson(response, 201, output);
  }

  return { 'GET /sign-in/passkey/new': optionsToAdd, 'POST /sign-in/passkey/new': add };
}

/** A person confirms with a passkey of their own alone. */
function confirming({ browser }: PageRequest, userId: string): Purpose {
  return { step: 'confirm', browser, userId };
}

/** All of a person. */
export async function passkeysOf({ store }: HandlerOptions, userId: string): Promise<readonly PasskeyRecord[]> {
  return (await store.passkeys.find({ where: { userId }, limit: MOST_PASSKEYS })).records;
}
