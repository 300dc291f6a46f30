import { CLIENT_CAPABILITIES_META_KEY, INVALID_PARAMS, type Result } from '@modelcontextprotocol/server';
import type { Registry } from '../../tools/core/registry/registry.ts';
import { type View, viewAt } from '../../tools/core/registry/tool.ts';
import type { RequestContext } from '../http/request-context.ts';
import { isObject, RpcError } from './message.ts';
import { isModern } from './protocol-versions.ts';

/** The extension MCP Apps (SEP-1865), as clients and servers declare it. */
export const VIEWS_EXTENSION = 'io.modelcontextprotocol/ui';

const VIEW_TYPE = 'text/html;profile=mcp-app';

export interface ViewPages {
  /** The whole page as HTML. `tools`: the names of those that its reader may call. */
  viewPage(view: View, tools: ReadonlySet<string>): Promise<string>;
}

/**
 * Whether the list of tools names their pages. Clients of 2026-07-28 say in each request whether they show them; of others it cannot be
 * known here.
 */
export function showsViews(context: Pick<RequestContext, 'request' | 'message'>): boolean {
  if (!isModern(context)) return true;
  const { message } = context;
  return isObject(message) && isObject(message.params) && declaresViews(message.params._meta);
}

export function declaresViews(meta: unknown): boolean {
  const capabilities = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  const extensions = isObject(capabilities) ? capabilities.extensions : undefined;
  const declared = isObject(extensions) ? extensions[VIEWS_EXTENSION] : undefined;
  if (!isObject(declared)) return false;
  return !Array.isArray(declared.mimeTypes) || declared.mimeTypes.includes(VIEW_TYPE);
}

/** Whether these capabilities of a client are none but this extension, in its usual form. */
export function areViewsAlone(capabilities: Readonly<Record<string, unknown>>): boolean {
  const { extensions, ...others } = capabilities;
  if (Object.keys(others).length > 0 || !isObject(extensions)) return false;
  const { [VIEWS_EXTENSION]: declared, ...otherExtensions } = extensions;
  if (Object.keys(otherExtensions).length > 0 || !isObject(declared)) return false;
  const { mimeTypes, ...rest } = declared;
  return (
    Object.keys(rest).length === 0 && Array.isArray(mimeTypes) && mimeTypes.every((type) => typeof type === 'string')
  );
}

/** `resources/read` of a page, for callers with a tool shown in it. The page holds no data, so reading it is not a tool call. */
export async function readView(
  { registry, pages }: { readonly registry: Registry; readonly pages: ViewPages },
  { principal }: Pick<RequestContext, 'principal'>,
  uri: string,
): Promise<Result> {
  const view = viewAt(uri);
  const tools = registry.list(principal).map(({ tool }) => tool);
  if (!view || !tools.some((tool) => tool.view === view)) {
    const message = 'None of your tools has a page at this URI; tools/list names the pages of those that have one.';
    throw new RpcError(INVALID_PARAMS, message, { uri });
  }
  const text = await pages.viewPage(view, new Set(tools.map(({ name }) => name)));
  return { contents: [{ uri, mimeType: VIEW_TYPE, text, _meta: { ui: { prefersBorder: true } } }] };
}
