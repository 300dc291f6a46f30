import { boot } from '../../boot.ts';
import type { JsonSchema } from '../../schema.ts';
import type * as real from '../../tools.ts';
import { host } from './host.ts';

export type { ListedTool, Tools } from '../../tools.ts';

const names: ReadonlySet<string> = new Set(boot.tools);
const NONE: ReadonlySet<string> = new Set();

/** Of the tools, the page knows the one whose answer it shows, if the host has said which that is. */
export const useTools: typeof real.useTools = () => {
  const tool = host.context.toolInfo?.tool;
  return tool && new Map([[tool.name, { ...tool, inputSchema: (tool.inputSchema ?? {}) as JsonSchema }]]); // as the server lists it
};

export const useNames: typeof real.useNames = () => (host.capabilities.serverTools ? names : NONE);

export const useMay: typeof real.useMay = (tool) => tool !== undefined && useNames().has(tool);

export const useTool: typeof real.useTool = (name) => (name === undefined ? undefined : useTools()?.get(name));
