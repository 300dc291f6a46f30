import type * as real from '../../identity.ts';

/** Nobody signs in inside a host: what needs that is refused in the words of the server. */
export const askIdentity: typeof real.askIdentity = async () => false;
