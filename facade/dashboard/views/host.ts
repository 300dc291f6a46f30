import { boot } from '../boot.ts';
import { CallError } from '../call-error.ts';
import type { ToolResult } from '../client.ts';
import type * as identity from '../identity.ts';
import type * as router from '../router.ts';
import type { JsonSchema } from '../schema.ts';
import { createSignal } from '../signal.ts';
import type * as tabs from '../tabs.ts';
import type * as tools from '../tools.ts';
import type * as transport from '../transport.ts';

/*
 * The host, in place of the server and the browser: what `transport.ts`, `router.ts`, `tools.ts`, `tabs.ts` and `identity.ts` export, a
 * page in a host has from here. See `server/views.ts`.
 */
export type { ListedTool, Tools } from '../tools.ts';

/** What the host said of itself, as far as the pages use it. */
export interface HostContext {
  readonly theme?: string;
  readonly styles?: { readonly variables?: Readonly<Record<string, unknown>> };
  readonly toolInfo?: { readonly tool?: ShownTool };
}

/** The tool whose answer is shown, as the host knows it from the list. */
type ShownTool = Readonly<{ name: string; title?: string; inputSchema?: object }>;

interface HostSaid {
  readonly hostCapabilities?: { readonly serverTools?: object; readonly openLinks?: object };
  readonly hostContext?: HostContext;
}

/** The host, once it has answered. */
export const host: { capabilities: NonNullable<HostSaid['hostCapabilities']>; context: HostContext } = {
  capabilities: {},
  context: {},
};

/** Greets the host. */
export async function meetHost(version: string): Promise<void> {
  const said = (await ask('ui/initialize', {
    appInfo: { name: 'agent-admin', version },
    appCapabilities: {},
    protocolVersion: '2026-01-26',
  })) as HostSaid; // the extension says so
  host.capabilities = said.hostCapabilities ?? {};
  host.context = said.hostContext ?? {};
}

/** Opens a page of the dashboard in a browser, if the host does that. */
function openLink(url: string): void {
  if (host.capabilities.openLinks) ask('ui/open-link', { url }).catch(() => {}); // the host has said no
}

/** Nobody signs in inside a host: what needs that is refused in the words of the server. */
export const askIdentity: typeof identity.askIdentity = async () => false;

/** The page is alone. */
export const tellTabs: typeof tabs.tellTabs = () => {};
export const hearTabs: typeof tabs.hearTabs = () => {};

/** Calls go through the host, with the rights that it has. */
export const request: typeof transport.request = async (method, params, { name = method } = {}) => {
  try {
    return withStructure((await ask(method, { ...params })) as ToolResult); // the pages call tools alone
  } catch (error) {
    throw new CallError(name, { error: error instanceof Error ? error.message : String(error), code: 'failed' });
  }
};

/** The result of a tool with its structured content, which hosts may leave out: it is in the text, too. */
export function withStructure(result: ToolResult): ToolResult {
  if (result.structuredContent || result.isError) return result;
  const text = result.content?.find(({ type }) => type === 'text')?.text ?? '';
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' && parsed !== null ? { ...result, structuredContent: parsed } : result;
  } catch {
    return result; // words of an integration
  }
}

const names: ReadonlySet<string> = new Set(boot.tools);
const NONE: ReadonlySet<string> = new Set();

/** Of the tools, the page knows the one whose answer it shows, if the host has said which that is. */
export const useTools: typeof tools.useTools = () => {
  const tool = host.context.toolInfo?.tool;
  return tool && new Map([[tool.name, { ...tool, inputSchema: (tool.inputSchema ?? {}) as JsonSchema }]]); // as the server lists it
};

export const useNames: typeof tools.useNames = () => (host.capabilities.serverTools ? names : NONE);

export const useMay: typeof tools.useMay = (tool) => tool !== undefined && useNames().has(tool);

export const useTool: typeof tools.useTool = (name) => (name === undefined ? undefined : useTools()?.get(name));

/** The page has no address: its state is kept here, and paths of the dashboard are opened by the host. */
const place = createSignal<router.PageLocation>({ path: '/', parts: [], query: new URLSearchParams() });
export const useLocation: typeof router.useLocation = place.use;

/** Which paths of the dashboard are shown in the page itself. */
let isHere: (path: string) => boolean = (path) => path.split('?')[0] === place.get().path;

/** From now on these paths are shown in the page. */
export function showHere(test: (path: string) => boolean): void {
  isHere = test;
}

/** Begins with the state that belongs to what is shown. `path`: where the dashboard shows the same. */
export function beginAt(path: string, query: Readonly<Record<string, string | undefined>> = {}): URLSearchParams {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const begun = new URLSearchParams(given);
  place.set({ path, parts: path.split('/').filter((part) => part !== ''), query: begun });
  return begun;
}

function move(query: URLSearchParams): void {
  place.set({ ...place.get(), query });
}

export const at: typeof router.at = (path) => `${boot.base}${path}`;

export const go: typeof router.go = (path) => {
  if (isHere(path)) move(new URLSearchParams(path.split('?')[1]));
  else openLink(at(path));
};

export const setQuery: typeof router.setQuery = (changes) => {
  const query = new URLSearchParams(place.get().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  move(query);
};

/** Links lead to the dashboard alone, whatever the texts of records say. */
export const followLinks: typeof router.followLinks = () => {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || event.defaultPrevented) return;
    event.preventDefault();
    const href = link.getAttribute('href') ?? '';
    if (href.startsWith(`${boot.base}/`)) go(href.slice(boot.base.length));
  });
};

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
