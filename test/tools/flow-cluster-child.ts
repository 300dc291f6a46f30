import { once } from 'node:events';
import { toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';

/** Runs, on the database, the flow of three steps whose second is the tool named. Says who it is and which run that is, and hangs in the middle of it. */
const [url = '', tool = ''] = process.argv.slice(2);

async function hang(): Promise<never> {
  const [run] = (await world.store.flowRuns.find({ limit: 1 })).records;
  process.stdout.write(`${JSON.stringify({ worker: world.store.jobs.worker, run: run?.id })}\n`);
  await once(process, 'never');
  throw new Error('It goes on.');
}

const world = await FlowWorld.open({ url, tools: toolsThatDie(true, hang) });
if (tool === 'dies_waiting') {
  world.store.onCommit(({ changes }) => {
    if (changes.some(({ collection, record }) => collection === 'flowRuns' && waits(record))) void hang();
  });
}
function waits({ steps }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(steps) && steps.some(({ retryAt }) => retryAt !== undefined);
}
const skill = (name: string) => ({ id: name, tool: 'create_skill', arguments: { name, instructions: 'x' } });
const retry = { attempts: 2, delayMs: 3000 };
const { id } = await world.flow({
  steps: [skill('first'), { id: 'middle', tool, arguments: {}, retry }, skill('third')],
});
await world.run(id);
