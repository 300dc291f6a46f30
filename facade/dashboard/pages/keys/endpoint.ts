import { boot } from '../../boot.ts';

/** The address at which keys and people find all their tools. */
export function unifiedEndpoint(): string {
  return `${location.origin}${boot.base}/api/v1/mcp`;
}
