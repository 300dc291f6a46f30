/**
 * The connection to the host that shows this page (MCP Apps): JSON-RPC by `postMessage`. The SDK has one too, which is fifty times as large.
 */
type Params = Readonly<Record<string, unknown>>;

interface Message {
  readonly jsonrpc?: string;
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
}

interface Open {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const open = new Map<number, Open>();
let lastId = 0;

function post(message: Message): void {
  parent.postMessage({ jsonrpc: '2.0', ...message }, '*'); // the page does not know where its host is from
}

/** Sends a request to the host. @throws what the host said against it */
export function ask(method: string, params: Params): Promise<unknown> {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve, reject) => {
    open.set(id, { resolve, reject });
    post({ id, method, params });
  });
}

export function notify(method: string, params: Params = {}): void {
  post({ method, params });
}

/** Hears the host, and nobody else. Requests are answered with nothing, those that no handler is for with an error. */
export function listen(handlers: Readonly<Record<string, (params: Params) => void>>): void {
  addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
    if (source !== parent || typeof data !== 'object' || data === null) return;
    const { id, method, params = {}, result, error, jsonrpc } = data as Message; // members are looked at before they are used
    if (jsonrpc !== '2.0') return;
    if (typeof method === 'string') {
      const handle = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
      handle?.(params);
      if (id === undefined) return;
      if (handle) post({ id, result: {} });
      else post({ id, error: { code: -32601, message: 'Method not found' } as Message['error'] & object });
    } else if (typeof id === 'number') {
      const asked = open.get(id);
      open.delete(id);
      if (error) asked?.reject(new Error(error.message ?? 'The host refused this.'));
      else asked?.resolve(result);
    }
  });
}
