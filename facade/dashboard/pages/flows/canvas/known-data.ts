import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { FlowRun } from '../../../../../resources/flow-run.ts';
import { type ListAnswer, useAnswer, useMay, useTools } from '../../../app.ts';
import type { JsonSchema } from '../../../schema.ts';
import { type Step, triggerOf } from './words.ts';

/** An answer or input that data can be taken from. */
export interface DataSource {
  readonly label: string;
  /** As templates and conditions name it: `steps.all.output`. */
  readonly path: string;
  /** The tool whose answer it is; or else its schema, where that is known. */
  readonly tool?: string;
  readonly schema?: JsonSchema | undefined;
  readonly sample: unknown;
}

/** What the fields of a step can take data from. */
export const KnownData = createContext<readonly DataSource[]>([]);

export function useKnownData(): readonly DataSource[] {
  return useContext(KnownData);
}

const LOOKED_AT = 10;

/** What became of the steps the last time, and what the flow was given, as far as the person may see it. */
export interface Samples {
  readonly input?: unknown;
  readonly outputs: ReadonlyMap<string, unknown>;
}

/** As the last runs had it, a test of what is not saved yet first. A webhook's input is what was delivered. */
export function useSamples(flowId: string | undefined, test?: FlowRun): Samples {
  const may = useMay('list_flow_runs');
  const { data } = useAnswer<ListAnswer<FlowRun>>(may && flowId !== undefined ? 'list_flow_runs' : undefined, {
    id: flowId,
    limit: LOOKED_AT,
  });
  return samplesIn([...(test ? [test] : []), ...(data?.data ?? [])]);
}

export function samplesIn(runs: readonly FlowRun[]): Samples {
  const outputs = new Map<string, unknown>();
  for (const { id, tool, output } of runs.flatMap(({ steps }) => steps)) {
    const key = `${id} ${tool}`;
    if (output !== undefined && !outputs.has(key)) outputs.set(key, output);
  }
  const input = runs.find((run) => run.input !== undefined)?.input;
  return { outputs, ...(input !== undefined && { input }) };
}

/** What a step at this place can take data from: what started the flow, and the steps before it. */
export function useDataBefore(trigger: unknown, before: readonly Step[], samples: Samples): readonly DataSource[] {
  const tools = useTools();
  const schema = INPUTS[triggerOf(trigger).kind ?? ''];
  const outputs = before.map(({ id, tool }) => ({
    label: `${tools?.get(tool)?.title ?? tool} (${id})`,
    path: `steps.${id}.output`,
    tool,
    sample: samples.outputs.get(`${id} ${tool}`),
  }));
  return [{ label: 'What started it', path: 'input', schema, sample: samples.input }, ...outputs];
}

const TEXT = { type: 'string' };

/** What runs are given that nobody gives an input. */
const INPUTS: Readonly<Record<string, JsonSchema>> = {
  cron: { type: 'object', properties: { at: TEXT } },
  event: { type: 'object', properties: { type: TEXT, id: TEXT } },
};
