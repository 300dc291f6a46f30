import { inEra, type Params, post } from '../facade/mcp-requests.ts';
import { makeCapsule, mustCall } from './calls.ts';
import type { TestServer } from './server.ts';

/** What a client of a capsule knows. */
export interface Capsule {
  readonly id: string;
  readonly token: string;
}

/** A member of `_meta` that no plain message has, so that the SDK answers. */
const UNUSUAL = { 'example.com/unusual': true };

/** Both eras at the direct path, and both at that of the SDK. */
export const ways = (['legacy', 'modern'] as const).flatMap((era) => [
  { era, name: `${era}, direct path`, odd: false },
  { era, name: `${era}, SDK path`, odd: true },
]);
export type Way = (typeof ways)[number];
const plain: Way = { era: 'legacy', name: '', odd: false };

/** Clients of the capsules of the server, which need not run yet. */
export function capsuleClients(server: () => TestServer) {
  const endpoint = (id: string) => `${server().baseUrl}/api/capsules/${id}/mcp`;

  function ask({ id, token }: Capsule, method: string, params: Params = {}, { era, odd } = plain) {
    const { message, headers } = inEra(era, method, params);
    const { _meta = {} } = (message.params ?? {}) as { _meta?: object };
    const unusual = { ...message, params: { ...message.params, _meta: { ..._meta, ...UNUSUAL } } };
    return post(endpoint(id), odd ? unusual : message, { token, headers });
  }

  return {
    endpoint,
    ask,
    /** Makes a live capsule. It allows `list_agents` if nothing else is given. */
    make: (input: object = {}): Promise<Capsule> => makeCapsule(server(), { allowedTools: ['list_agents'], ...input }),
    /** Names of the tools in its list. */
    async listed(capsule: Capsule, way?: Way): Promise<string[]> {
      const { body } = await ask(capsule, 'tools/list', {}, way);
      return body.result.tools.map(({ name }: { name: string }) => name);
    },
    /** The audit entry of the request. */
    async entryOf(requestId: string) {
      const { store, adminKey, baseUrl } = server();
      await store.audit.flush();
      const { data } = await mustCall({ baseUrl }, adminKey, 'list_audit_entries', { limit: 100 });
      return data.find((entry: { requestId: string }) => entry.requestId === requestId);
    },
    /** The error of a call, or what it gave. */
    async call(capsule: Capsule, name: string, input: Params = {}, way?: Way) {
      const { body } = await ask(capsule, 'tools/call', { name, arguments: input }, way);
      if (!body.result) return body.error;
      return body.result.isError ? JSON.parse(body.result.content[0].text) : body.result.structuredContent;
    },
  };
}
