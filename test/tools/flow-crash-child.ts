import { die, toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';

/** Runs, on a store in the folder, the flow of three steps whose second is the tool named, and dies by SIGKILL in the middle of it, or while it waits for its next try. */
const [folder = '', tool = ''] = process.argv.slice(2);

const world = await FlowWorld.open({ folder, tools: toolsThatDie(true) });
if (tool === 'dies_after_commit') {
  world.store.onCommit(({ changes }) => {
    if (changes.some(({ kind, record }) => kind === 'created' && record.name === 'second')) void die();
  });
}
if (tool === 'dies_waiting') {
  world.store.onCommit(({ changes }) => {
    if (changes.some(({ collection, record }) => collection === 'flowRuns' && waits(record))) void die();
  });
}
function waits({ steps }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(steps) && steps.some(({ retryAt }) => retryAt !== undefined);
}
const skill = (name: string) => ({ id: name, tool: 'create_skill', arguments: { name, instructions: 'x' } });
const { id } = await world.flow({
  steps: [skill('first'), { id: 'middle', tool, arguments: {}, retry: { attempts: 2, delayMs: 100 } }, skill('third')],
});
await world.run(id);
