import { personIn } from '../support/deciders.ts';
import { die, toolsThatDie } from '../support/dying-tools.ts';
import { FlowWorld } from '../support/flow-world.ts';

/** On a store in the folder, has a flow of three steps wait for a person before the second, and dies by SIGKILL: while it waits, when it is decided, or in its call. */
const [folder = '', tool = '', when = ''] = process.argv.slice(2);

const world = await FlowWorld.open({ folder, tools: toolsThatDie(true) });
const [anna, bert] = [await personIn(world, 'anna'), await personIn(world, 'bert')];
const skill = (name: string) => ({ id: name, tool: 'create_skill', arguments: { name, instructions: 'x' } });
const { id } = await world.flow(
  { steps: [skill('first'), { id: 'middle', tool, arguments: {}, approval: true }, skill('third')] },
  anna,
);
world.store.onCommit(({ changes }) => {
  for (const { record, collection } of changes) {
    if (collection === 'approvals' && record.status === 'approved' && when === 'decided') void die();
    if (tool === 'dies_after_commit' && record.name === 'second') void die();
  }
});
const run = await world.run(id);
if (when === 'waiting') await die();
await world.must('decide_approval', { id: run.steps[1]?.approvalId, decision: 'approve' }, bert);
