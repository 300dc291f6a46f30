import { z } from 'zod';
import { SERVED_METHODS } from '../mcp/methods.ts';

/** A message to the MCP endpoint. Notifications have no id. */
export const jsonRpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional().describe('Omit for notifications.'),
  method: z.enum(SERVED_METHODS),
  params: z.record(z.string(), z.unknown()).optional(),
});

/** The answer to a message with an id: `result`, or `error` where the message itself is wrong. */
export const jsonRpcResponse = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int(), z.null()]).optional(),
  result: z.record(z.string(), z.unknown()).optional().describe('A failed tool call is a result with `isError`.'),
  error: z
    .object({ code: z.int(), message: z.string(), data: z.unknown().optional() })
    .optional()
    .describe('JSON-RPC 2.0 error.'),
});
