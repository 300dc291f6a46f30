import { z } from 'zod';
import { noNextPage } from '../../resources/fields.ts';
import { defineTool, READS } from '../core/registry/define-tool.ts';
import { eventTypesOf } from './event-types.ts';

export const listEventTypes = defineTool({
  name: 'list_event_types',
  title: 'List event types',
  description:
    'List the types of event that can start a flow, as its trigger {"kind": "event", "type"}. Each run gets the type and the record\'s id as `input`.',
  access: { scope: 'flows:read', grant: 'flow:read' },
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({
    data: z.array(
      z.object({
        type: z.string(),
        description: z.string(),
        recordType: z.string().describe('Of the records that it happens to.'),
      }),
    ),
    nextCursor: noNextPage,
  }),
  errors: [],

  handler: async (_, { server }) => ({ data: eventTypesOf(server.kinds), nextCursor: null }),
});
