import type { KoaContextWithOIDC } from 'oidc-provider';
import { type Addresses, paths } from './addresses.ts';
import { redirectHost, THIS_COMPUTER } from './client-metadata.ts';
import type { ClientKind } from './clients.ts';
import type { ShowProblem } from './problem-page.ts';

interface Options {
  readonly addresses: Addresses;
  readonly showProblem: ShowProblem;
  /** How the client became known; undefined for an unknown one. */
  kindOf(clientId: string): Promise<ClientKind | undefined>;
}

/**
 * Shows errors that are found before a person was asked on a page of ours, if the client would get them at a web page or in an app that has
 * a scheme. Otherwise anybody could register and then lead people from an address of this server to any page, or start an app of theirs
 * (RFC 9700, section 4.11.2). Clients that an administrator made are trusted, and programs that listen on this computer have no web page.
 */
export function earlyErrors({ addresses, showProblem, kindOf }: Options) {
  return async (context: KoaContextWithOIDC, next: () => Promise<unknown>): Promise<void> => {
    await next();
    const location = context.response.get('Location');
    if (context.path !== paths.authorize || location === '' || !isElsewhere(location, addresses)) return;
    const clientId = context.oidc.client?.clientId;
    if (clientId !== undefined && (await kindOf(clientId)) === 'made') return;
    const { search, hash } = new URL(location);
    const answer = new URLSearchParams(search === '' ? hash.slice(1) : search);
    context.respond = false;
    context.res.removeHeader('Location');
    await showProblem(context.res, {
      status: 400,
      error: answer.get('error') ?? 'invalid_request',
      description: answer.get('error_description') ?? 'The request is not valid.',
    });
  };
}

function isElsewhere(location: string, { base }: Addresses): boolean {
  const { href, origin } = new URL(location, base);
  return origin !== base.origin && redirectHost(href) !== THIS_COMPUTER;
}
