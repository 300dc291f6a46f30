import { once } from 'node:events';
import { z } from 'zod';
import { ANYONE } from '../../tools/access/requirement.ts';
import { CREATES, defineTool, READS } from '../../tools/define-tool.ts';
import { FlowWorld } from '../support/flow-world.ts';

/**
 * Runs the flow of three steps whose second is the tool named, and dies by SIGKILL in the middle of it; started again on the same folder
 * with `again`, it tells on standard output how the run ended and what there is.
 */
const [folder = '', tool = '', again] = process.argv.slice(2);

async function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  await once(process, 'never');
  throw new Error('It lives.');
}

const parts = { title: 'Dies', description: 'Dies the first time.', access: ANYONE, errors: [] } as const;
const schemas = { input: z.strictObject({}), output: z.object({ ok: z.boolean() }) } as const;

const tools = [
  defineTool({
    ...parts,
    ...schemas,
    name: 'dies_reading',
    annotations: READS,
    handler: async () => (again ? { ok: true } : die()),
  }),
  defineTool({
    ...parts,
    ...schemas,
    name: 'dies_before_commit',
    annotations: CREATES,
    async handler(_, { store }) {
      await store.skills.insert({ name: 'second', instructions: 'x' });
      return again ? { ok: true } : die();
    },
  }),
  defineTool({
    ...parts,
    ...schemas,
    name: 'dies_after_commit',
    annotations: CREATES,
    async handler(_, { store }) {
      await store.skills.insert({ name: 'second', instructions: 'x' });
      return { ok: true };
    },
  }),
  defineTool({
    ...parts,
    ...schemas,
    name: 'dies_between_steps',
    annotations: CREATES,
    inSteps: true,
    async handler(_, { write }) {
      await write((store) => store.skills.insert({ name: 'second', instructions: 'x' }));
      return again ? { ok: true } : die();
    },
  }),
];

const world = await FlowWorld.open({ folder, tools });
if (again) {
  const { records } = await world.store.flowRuns.find({ limit: 10 });
  const [run] = records;
  if (!run || records.length > 1) throw new Error(`There are ${records.length} runs.`);
  await world.engine.ended(run.id, undefined, false);
  const ended = await world.must('get_flow_run', { id: run.id });
  const skills = await world.must('list_skills', { limit: 100 });
  const names = skills.data.map(({ name }: { name: string }) => name);
  process.stdout.write(JSON.stringify({ run: ended, names }));
  await world.stop();
} else {
  if (tool === 'dies_after_commit') {
    world.store.onCommit(({ changes }) => {
      if (changes.some(({ kind, record }) => kind === 'created' && record.name === 'second')) void die();
    });
  }
  const skill = (name: string) => ({ id: name, tool: 'create_skill', arguments: { name, instructions: 'x' } });
  const { id } = await world.flow({ steps: [skill('first'), { id: 'middle', tool, arguments: {} }, skill('third')] });
  await world.run(id);
}
