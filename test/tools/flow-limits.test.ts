import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as round } from 'node:timers/promises';
import type { FlowStep } from '../../resources/flow.ts';
import { withHistory } from '../../tools/core/history/history.ts';
import { analyzeTexts } from '../../tools/flows/analyze-texts.ts';
import { kinds } from '../../tools/kinds.ts';
import { FlowWorld } from '../support/flow-world.ts';

const step = (text: string, at = 0) => ({
  id: `s${at}`,
  tool: 'create_skill',
  arguments: { name: `n${at}`, instructions: text },
});
const filters = (count: number) => `{{ input.a${' | append: "|.|"'.repeat(count)} }}`;
const segments = (count: number) => `{{ input${'.a'.repeat(count - 1)} }}`;
/** Within all limits, and more than is analyzed beside other calls. */
const long = `{% liquid\n${'assign a = input.b\n'.repeat(600)} %}`;

const world = await FlowWorld.open();

describe('the texts of a flow', () => {
  async function refusal(tool: string, input: object): Promise<string> {
    const answer = await world.refused(tool, input);
    return `${answer.code} ${answer.error}`;
  }
  const refusedFlow = (steps: object[]) => refusal('create_flow', { name: 'heavy', steps });

  it('have bounded filters and segments in each output, and refusals name the place and the limit', async () => {
    await world.flow({ steps: [step(filters(100)), step(segments(50), 1)] });
    assert.match(
      await refusedFlow([step('x'), step(filters(101), 1)]),
      /^invalid_input steps\[1\]\.arguments\.instructions: An output or tag has 101 filters; 100 is the most/,
    );
    assert.match(
      await refusedFlow([step(segments(51))]),
      /^invalid_input steps\[0\]\.arguments\.instructions: A path has 51 segments; 50 is the most/,
    );
    assert.match(await refusedFlow([step(`{% if input${'[0]'.repeat(60)} %}{% endif %}`)]), /A path has 61 segments/);
    const { id: agentId } = await world.must('create_agent', { name: 'ada', displayName: 'Ada' });
    assert.match(
      await refusal('create_flow', { name: 'heavy', agentId, prompt: filters(101) }),
      /^invalid_input prompt: An output or tag has 101 filters/,
    );
  });

  it('are bounded in all, and the longest is named', async () => {
    const part = 'x'.repeat(99_990);
    const steps = [0, 1, 2, 3].map((at) => step(part, at));
    const rest = (length: number) => step('x'.repeat(500_000 - 4 * (part.length + 2) - 2 - length), 4);
    await world.flow({ steps: [...steps, rest(0)] });
    assert.match(
      await refusedFlow([...steps, rest(-1)]),
      /^invalid_input steps\[4\]\.arguments\.instructions: The texts of the flow have 500001 characters in all; 500000 is the most/,
    );
    assert.match(await refusedFlow([rest(-1), ...steps]), /^invalid_input steps\[0\]\.arguments\.instructions: /);
  });

  it('are held to this by changes and restored states too', async () => {
    const flow = await world.flow({ steps: [step('x')] });
    assert.match(await refusal('update_flow', { id: flow.id, steps: [step(filters(101))] }), /has 101 filters/);
    // As an earlier version could write it.
    await world.store.transaction(async (tx) => {
      const author = { type: 'api-key', id: 'key_1', name: 'earlier' } as const;
      const { flows } = withHistory(tx, kinds, { author });
      await flows.update(flow.id, { steps: [{ ...flow.steps?.[0], ...step(filters(101)) } as FlowStep] }); // of a stored one
    });
    const { data } = await world.must('list_versions', { entityType: 'flow', entityId: flow.id });
    await world.must('update_flow', { id: flow.id, steps: [step('y')] });
    assert.match(
      await refusal('restore_version', { entityType: 'flow', entityId: flow.id, versionId: data[0].id }),
      /^conflict This state of the flow cannot be restored: steps\[0\]\.arguments\.instructions: An output or tag has 101 filters/,
    );
  });

  it('are analyzed without holding up other calls and their writes', async () => {
    const flow = await world.flow({ steps: [step(long)] });
    const versions = await world.must('list_versions', { entityType: 'flow', entityId: flow.id });
    await world.must('update_flow', { id: flow.id, steps: [step('y')] });
    for (const [tool, input] of [
      ['create_flow', { name: 'heavy', steps: [step(long)] }],
      ['update_flow', { id: flow.id, steps: [step(long)] }],
      ['restore_version', { entityType: 'flow', entityId: flow.id, versionId: versions.data[0].id }],
    ] as const) {
      assert.ok((await roundsBeforeTransaction(() => world.must(tool, input))) >= 20, tool);
    }
  });

  /** Rounds of the event loop before the call holds up other writes. */
  async function roundsBeforeTransaction(call: () => Promise<unknown>): Promise<number> {
    const { store } = world;
    const { transaction } = store;
    let begun = false;
    store.transaction = (...work) => {
      begun = true;
      return transaction.apply(store, work) as never; // what the work gives
    };
    const answered = call();
    let rounds = 0;
    for (; !begun; rounds += 1) await round();
    await answered;
    store.transaction = transaction;
    return rounds;
  }

  it('may be as many conditions as there are steps', async () => {
    const conditions = Array.from({ length: 100 }, (_, at) => ({
      ...step('x', at),
      when: `input.a${at} == 1${' || input.b == 1'.repeat(120)}`,
    }));
    const flow = await world.flow({ steps: conditions });
    assert.equal(flow.steps?.length, 100);
  });

  it('have those as a problem that take too long, and those after them', () => {
    const { templates, conditions } = analyzeTexts(
      { templates: ['{{ input.a }}', long], conditions: ['input.a == 1'] },
      1,
    );
    const problem = 'with the texts before it, it takes more than 1 ms';
    assert.deepEqual(templates[1], { references: [], problem });
    assert.deepEqual(conditions, [{ references: [], problem }]);
  });
});
