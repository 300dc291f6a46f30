import { EventEmitter, once } from 'node:events';
import { z } from 'zod';
import { ANYONE } from '../../tools/core/access/guarded-tool.ts';
import { CREATES, defineTool, READS } from '../../tools/core/registry/define-tool.ts';
import { until } from '../support/until.ts';

/** Says what happens to calls of `wait`: `started`, and `aborted` with the reason it was given. */
export const waiting = new EventEmitter<{ started: [string]; aborted: [string] }>();

const wait = defineTool({
  name: 'wait',
  title: 'Wait',
  description: 'Wait until the caller goes away.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({ label: z.string() }),
  output: z.object({ label: z.string() }),
  errors: [],

  async handler({ label }, { signal }) {
    if (!signal) throw new Error('There is no signal.');
    waiting.emit('started', label);
    if (!signal.aborted) await once(signal, 'abort');
    waiting.emit('aborted', label);
    return { label };
  },
});

const waitFirst = defineTool({
  name: 'wait_first',
  title: 'Wait first',
  description: 'Wait a moment, then look whether the caller went away.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({ label: z.string() }),
  output: z.object({ label: z.string() }),
  errors: [],

  async handler({ label }, context) {
    waiting.emit('started', label);
    // Long enough that the first look comes late, unless the machine is busy.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await until(() => context.signal?.aborted === true);
    waiting.emit('aborted', label);
    return { label };
  },
});

const countUp = defineTool({
  name: 'count_up',
  title: 'Count up',
  description: 'Count to a number, telling each step.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({ to: z.int().min(1).max(10) }),
  output: z.object({ count: z.int() }),
  errors: [],

  async handler({ to }, { report }) {
    for (let progress = 1; progress <= to; progress++) {
      report({ progress, total: to, message: `step ${progress}` });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return { count: to };
  },
});

const echo = defineTool({
  name: 'echo',
  title: 'Echo',
  description: 'Answer the text. Emoji 🙂 and "quotes" survive.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({ text: z.string().default('none'), more: z.record(z.string(), z.json()).optional() }),
  output: z.object({ text: z.string(), more: z.record(z.string(), z.json()).optional() }),
  errors: [],

  async handler(input) {
    return input;
  },
});

const breakDown = defineTool({
  name: 'break_down',
  title: 'Break down',
  description: 'Fail in a way nobody expected.',
  access: ANYONE,
  annotations: READS,
  input: z.strictObject({}),
  output: z.object({}),
  errors: [],

  async handler() {
    throw new Error('the secret of the database is hunter2');
  },
});

const passOn = defineTool({
  name: 'pass_on',
  title: 'Pass on',
  description: 'Answer content that was made elsewhere.',
  access: ANYONE,
  annotations: READS,
  answersContent: true,
  input: z.strictObject({ structured: z.boolean().default(true) }),
  output: z.looseObject({ content: z.array(z.json()) }),
  errors: [],

  async handler({ structured }) {
    const content = [
      { type: 'text', text: 'é🙂"\\' },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    ];
    return { content, ...(structured && { structuredContent: { deep: [1, { two: 2 }] } }) };
  },
});

const narrate = defineTool({
  name: 'narrate',
  title: 'Narrate',
  description: 'Tell a step and a piece of an answer, then answer.',
  access: ANYONE,
  annotations: READS,
  answersContent: true,
  input: z.strictObject({}),
  output: z.looseObject({ content: z.array(z.json()) }),
  errors: [],

  async handler(_, { report }) {
    report({ progress: 1, message: 'Calling echo', event: { name: 'tool_call', data: {} } });
    report({ progress: 2, message: 'Once upon', event: { name: 'delta', data: {} } });
    report({ progress: 3 });
    return { content: [{ type: 'text', text: 'Done.' }] };
  },
});

let runs = 0;

const countRuns = defineTool({
  name: 'count_runs',
  title: 'Count runs',
  description: 'Answer how often this ran.',
  access: ANYONE,
  annotations: CREATES,
  input: z.strictObject({}),
  output: z.object({ runs: z.int() }),
  errors: [],

  async handler() {
    runs += 1;
    return { runs };
  },
});

export const fixtureTools = [wait, waitFirst, countUp, echo, breakDown, passOn, narrate, countRuns];
