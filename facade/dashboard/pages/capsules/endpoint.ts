import { boot } from '../../boot.ts';
import type { Row } from '../../kind/spec.ts';

/** The address of a capsule's endpoint. */
export function endpointOf({ id }: Row): string {
  return `${location.origin}${boot.base}/api/capsules/${encodeURIComponent(String(id))}/mcp`;
}
