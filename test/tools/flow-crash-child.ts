import { die, toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';

/** Runs, on a store in the folder, the flow of three steps whose second is the tool named, and dies by SIGKILL in the middle of it. */
const [folder = '', tool = ''] = process.argv.slice(2);

const world = await FlowWorld.open({ folder, tools: toolsThatDie(true) });
if (tool === 'dies_after_commit') {
  world.store.onCommit(({ changes }) => {
    if (changes.some(({ kind, record }) => kind === 'created' && record.name === 'second')) void die();
  });
}
const skill = (name: string) => ({ id: name, tool: 'create_skill', arguments: { name, instructions: 'x' } });
const { id } = await world.flow({ steps: [skill('first'), { id: 'middle', tool, arguments: {} }, skill('third')] });
await world.run(id);
