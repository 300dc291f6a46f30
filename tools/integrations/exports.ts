/** What other groups use of the connections to integrations: requests to servers that are not trusted, and stored secrets. */
export { createFetch, type Fetch } from './upstream/fetch.ts';
export { AddressRefused, requirePublic } from './upstream/ip-addresses.ts';
export type { Upstreams } from './upstream/upstreams.ts';
