import { legacy, modern, modernHeaders, modernMeta, type Params } from './mcp-requests.ts';
import { tokens } from './mcp-server.ts';

export interface RandomRequest {
  readonly token: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const oddValues: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e300, 2 ** 53, '', 'x', '\ud800', '1', [], {}, [1], { a: 1 }],
  ...['tools/list', 'echo', '2026-07-28', '2025-11-25'],
];
const oddMembers = [
  ...['cursor', 'task', 'extra', '_meta', 'name', 'arguments', 'id', 'params', 'progressToken'],
  ...['idempotencyKey', '__proto__', 'constructor', 'inputResponses', 'requestState'],
  ...['io.modelcontextprotocol/logLevel', 'io.modelcontextprotocol/related-task', 'traceparent'],
];
const oddHeaders = [
  ...['', 'x', '2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05', '2024-10-07', '1999-01-01'],
  ...['2027-01-01', 'tools/list', 'tools/call', 'echo', '=?base64?ZWNobw==?=', 'application/json'],
  ...['text/event-stream', 'application/json, text/event-stream', '*/*'],
];
const headerNames = ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Accept'];
const queries = [
  ...['', '', '', '', '', '', '?tools=list_*', '?groups=skills', '?groups=nope', '?tools=nope'],
  ...['?groups=agents&tools=get_*', '?other=1'],
];

const SHOWS_VIEWS = {
  'io.modelcontextprotocol/clientCapabilities': {
    extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
  },
};

/** An endless supply of requests: plain ones, and such with a few things changed. */
export class RandomRequests {
  readonly #random: () => number;
  readonly #agentIds: readonly string[];

  constructor(random: () => number, agentIds: readonly string[]) {
    this.#random = random;
    this.#agentIds = agentIds;
  }

  next(): RandomRequest {
    const { message, headers } = this.#plain();
    const sentHeaders: Record<string, string> = { ...headers };
    const changes = this.#pick([0, 0, 0, 1, 1, 2, 3]);
    let sent: unknown = message;
    for (let change = 0; change < changes; change++) {
      if (this.#random() < 0.25) sentHeaders[this.#pick(headerNames)] = this.#pick(oddHeaders);
      else if (this.#random() < 0.1) delete sentHeaders[this.#pick(headerNames)];
      else sent = this.#changed(sent, 0);
    }
    const body = this.#random() < 0.01 ? JSON.stringify(sent).slice(0, -1) : JSON.stringify(sent);
    return { token: this.#pick(Object.values(tokens)), query: this.#pick(queries), headers: sentHeaders, body };
  }

  #plain() {
    const id = this.#pick([0, 1, 42, -7, 'a', 'b"\\', '🙂', '']);
    const [method, params] = this.#method();
    const meta = {
      ...this.#pick([{}, {}, {}, { progressToken: 1 }, { progressToken: 'p' }, { idempotencyKey: 'k' }, SHOWS_VIEWS]),
    };
    const accept = this.#pick<Record<string, string>>([
      {},
      {},
      { Accept: 'application/json' },
      { Accept: 'application/json, text/event-stream' },
    ]);
    const name = typeof params?.name === 'string' ? params.name : undefined;
    if (this.#random() < 0.45) {
      return { message: modern(method, params, meta, id), headers: { ...accept, ...modernHeaders(method, name) } };
    }
    const version = this.#pick<Record<string, string>>([
      {},
      {},
      { 'MCP-Protocol-Version': this.#pick(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) },
    ]);
    const own = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    return { message: legacy(method, own, id), headers: { ...accept, ...version } };
  }

  #method(): [string, Params | undefined] {
    const call = (name: string, input?: Params): [string, Params] => [
      'tools/call',
      { name, ...(input && { arguments: input }) },
    ];
    return this.#pick<() => [string, Params | undefined]>([
      () => ['tools/list', this.#pick([undefined, {}, {}, { cursor: 'x' }])],
      () => call('echo', this.#pick([undefined, {}, { text: 'é🙂"\\\u2028' }, { text: 5 }, { txt: '' }])),
      () => call('pass_on', this.#pick([{}, { structured: false }, { structured: 1 }])),
      () => call('get_agent', { id: this.#pick(this.#agentIds) }),
      () => call('list_agents', this.#pick([{}, { limit: 1 }, { limit: 0 }, { cursor: 'x' }])),
      () => call('create_agent', { name: 5 }),
      () => call('break_down', {}),
      () => call('count_up', { to: 1 }),
      () => call(this.#pick(['nope', 'get_agnt', 'get_mcp_status', 'constructor', '']), {}),
      () => [
        this.#pick(['ping', 'initialize', 'server/discover', 'no/such', 'prompts/list', 'logging/setLevel']),
        this.#pick([undefined, {}]),
      ],
      () => [
        'initialize',
        { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      ],
    ])();
  }

  /** A copy with one thing changed somewhere in it. */
  #changed(value: unknown, depth: number): unknown {
    const goOn = depth === 0 || this.#random() < 0.85;
    if (!goOn || typeof value !== 'object' || value === null || Array.isArray(value)) return this.#pick(oddValues);
    const members = Object.entries(value);
    const [name = 'extra'] = this.#pick(members) ?? [];
    const kind = this.#random();
    if (kind < 0.15) return Object.fromEntries(members.filter(([each]) => each !== name));
    if (kind < 0.35)
      return withMember(members, this.#pick([...oddMembers, ...Object.keys(modernMeta)]), this.#pick(oddValues));
    return withMember(members, name, this.#changed(Object.fromEntries(members)[name], depth + 1));
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item; // an index of the list, which is not empty
  }
}

/** `__proto__` becomes an own member, as it does when parsed from JSON. */
function withMember(members: readonly [string, unknown][], name: string, value: unknown): object {
  return Object.fromEntries([...members.filter(([each]) => each !== name), [name, value]]);
}
