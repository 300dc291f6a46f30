import { useEffect } from 'preact/hooks';
import { boot } from './boot.ts';
import type { JsonSchema } from './schema.ts';
import { createSignal } from './signal.ts';
import { request } from './transport.ts';

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: { readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean };
}

export type Tools = ReadonlyMap<string, ListedTool>;

const list = createSignal<Readonly<{ tools?: Tools | undefined; failure?: unknown }>>({});
let isBegun = false;

/** Reads the list of tools if nobody did yet. */
export function loadToolsOnce(): void {
  if (!isBegun) void loadTools();
}

/** Reads the list of the tools that the person may call; again when the list changes. */
export async function loadTools(): Promise<void> {
  isBegun = true;
  try {
    const found: ListedTool[] = [];
    let cursor: string | undefined;
    do {
      const page = (await request('tools/list', cursor === undefined ? {} : { cursor }, { query: '?hints=1' })) as Page;
      found.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    list.set({ tools: new Map(found.map((tool) => [tool.name, tool])) });
  } catch (failure) {
    list.set({ ...list.get(), failure });
  }
}

type Page = Readonly<{ tools: readonly ListedTool[]; nextCursor?: string }>;

/** Undefined until the list is there. @throws what reading the list threw, so that the page shows it */
export function useTools(): Tools | undefined {
  useEffect(loadToolsOnce, []);
  return useKnown();
}

/** The list as far as it is there; not asked for. */
function useKnown(): Tools | undefined {
  const { tools, failure } = list.use();
  if (!tools && failure !== undefined) throw failure;
  return tools;
}

/** The names of the tools that the person may call: known from the first moment, and as the list says once it is there. */
export function useNames(): ReadonlySet<string> {
  const known = useKnown();
  return known ? namesIn(known) : atFirst;
}

const atFirst: ReadonlySet<string> = new Set(boot.tools);
const names = new WeakMap<Tools, ReadonlySet<string>>();

function namesIn(known: Tools): ReadonlySet<string> {
  const found = names.get(known) ?? new Set(known.keys());
  names.set(known, found);
  return found;
}

/** Whether the person may call the tool. Buttons for other tools are not shown. */
export function useMay(tool: string | undefined): boolean {
  const known = useNames();
  return tool !== undefined && known.has(tool);
}

export function useTool(name: string | undefined): ListedTool | undefined {
  const known = useTools();
  return name === undefined ? undefined : known?.get(name);
}
