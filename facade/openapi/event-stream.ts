import type { Example } from './examples.ts';
import type { Part } from './schemas.ts';

const DESCRIPTION = `Server-sent events, where the client asks for them by \`Accept: text/event-stream\` or \`stream: true\`. The data of each is JSON:

- \`run\`: \`{runId, threadId, model}\`, first
- \`delta\`: \`{text}\`, the next piece of what the model says
- \`tool_call\`: \`{id, tool, arguments}\`
- \`tool_result\`: \`{id, tool, ok, content}\`
- \`final\`: what the JSON answer would be, last; or \`error\`: the body of an error

Lines that begin with a colon keep the connection open. What is refused before the run begins is an error with its own status.`;

/** The answer of an operation in the form of a stream. */
export const eventStream = (events: NonNullable<Example['events']>): Part => ({
  'text/event-stream': {
    schema: { type: 'string', description: DESCRIPTION },
    example: events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  },
});
