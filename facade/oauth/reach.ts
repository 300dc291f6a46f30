import { isIP } from 'node:net';
import { hostOf, isPublic } from '../../tools/core/outbound/ip-addresses.ts';

/** Says which MCP clients can connect by signing in: hosted ones come from the Internet and want https. */
export function describeReach(baseUrl: string, isOn: boolean): string {
  if (!isOn) return 'MCP clients connect with an API key alone (OAUTH=off).';
  const url = new URL(baseUrl);
  const here = `${baseUrl}/api/v1/mcp`;
  const problem = reachProblem(url);
  return problem === undefined
    ? `MCP clients connect by signing in at ${here}; hosted ones (Claude, ChatGPT) too, if ${url.host} can be reached from the Internet.`
    : `MCP clients in reach connect by signing in at ${here}. Hosted ones (Claude, ChatGPT) cannot: ${problem}; set BASE_URL to a public https address.`;
}

/** Why hosted clients cannot reach the address. Undefined if they may. */
function reachProblem(url: URL): string | undefined {
  const host = hostOf(url);
  const isPrivate =
    isIP(host) === 0
      ? !host.includes('.') || /\.(local|localhost|internal|lan|home|test)$/.test(host)
      : !isPublic(host);
  if (isPrivate) return `${host} is an address of this computer or network`;
  return url.protocol === 'https:' ? undefined : `${url.origin} is not https`;
}
