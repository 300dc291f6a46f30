import type { IncomingMessage } from 'node:http';
import type { ErrorDetail } from '../../tools/core/errors.ts';
import { metadataUrlOf } from '../http/challenge.ts';
import { targetOf } from '../http/target.ts';
import type { Addresses, Resource } from './addresses.ts';
import { leastScope } from './metadata.ts';

/** The endpoint that the request came to. */
export function resourceOf(request: IncomingMessage, addresses: Addresses): Resource | undefined {
  return addresses.resourceAt(targetOf(request).path);
}

/**
 * How a client finds out where to get a token. Nothing at addresses with `?auth=key`: some hosts would begin a sign-in rather than send the
 * header that they were given.
 */
export function metadataFor(request: IncomingMessage, addresses: Addresses): Pick<ErrorDetail, 'signIn'> {
  const resource = resourceOf(request, addresses);
  if (!resource || targetOf(request).url?.searchParams.get('auth') === 'key') return {};
  const metadata = metadataUrlOf(addresses.typed(resource, addresses.originFor(request)));
  return { signIn: { metadata, scope: leastScope(resource) } };
}
