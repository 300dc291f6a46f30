/** What other groups use of the connections to integrations. */
export type { Upstreams } from './upstream/upstreams.ts';
