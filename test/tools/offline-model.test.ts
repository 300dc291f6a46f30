import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LABEL } from '../../tools/core/models/offline-model.ts';
import { bestPassages } from '../../tools/core/models/passages.ts';
import { fence, readFences } from '../../tools/core/models/prompt-sections.ts';
import { faultsOf } from '../contract/plain-words.ts';
import { callsOf } from '../support/calls.ts';
import { startTestServer } from '../support/server.ts';

const server = await startTestServer();
const { must, refused } = callsOf(server);
const content = '# Support\n\nFirst answer within four hours.\n\n## Refunds\n\nWithin 14 days, without a question.\n';
const handbook = (await must('create_document', { title: 'Handbook', content })).id;
const instructions = '# Tone\n\n- Answer the question first, then explain.\n- Never promise a date.';
const tone = (await must('create_skill', { name: 'tone', displayName: 'Tone', instructions })).id;
const tools = ['search', 'get_document', 'list_skills', 'create_skill'];
await must('create_agent', { name: 'mira', displayName: 'Mira', tools, skillIds: [tone] });
await must('create_agent', { name: 'bare', displayName: 'Bare' });
const tea = (await must('create_memory', { content: 'Our customer Ann drinks green tea.' })).id;

const say = async (message: string, agentId = 'mira') =>
  (await must('send_chat_message', { message, agentId, model: 'offline/rehearsal' })).message.content as string;

describe('offline/rehearsal', () => {
  it('answers from documents, skills and memories, citing them, and says what it is', async () => {
    assert.equal(
      await say('How long do refunds take?'),
      `This is what I found:\n\n- Within 14 days, without a question. [Handbook, ${handbook}]\n\n${LABEL}`,
    );
    assert.match(await say('May I promise a date?'), new RegExp(`Never promise a date\\. \\[Tone, ${tone}\\]`));
    assert.match(await say('What does Ann drink?'), new RegExp(`Ann drinks green tea\\. \\[fact, ${tea}\\]`));
    assert.match(await say('What does Ann drink?', 'bare'), /green tea/);
  });

  it('finds short words too', async () => {
    await must('create_memory', { content: 'The tax id of the company is DE 811.' });
    await must('create_memory', { content: 'Above the roof the sky is open.' });
    await must('create_document', { title: 'Signals', content: 'The VPN runs on port 4.\n\nThe gym opens at six.' });
    for (const [question, answer] of [
      ['What is our tax id?', /DE 811/],
      ['tax id', /DE 811/],
      ['Do we know tax IDs?', /DE 811/],
      ['How is the sky?', /sky is open/],
      ['sky', /sky is open/],
      ['Which VPN?', /VPN runs/],
      ['Is there a gym?', /gym opens/],
    ] as const) {
      assert.match(await say(question), answer, question);
    }
    const sky = await say('sky');
    assert.ok(!sky.includes('DE 811') && !sky.includes('gym'), sky);
  });

  it('gives the same answer to the same question', async () => {
    assert.equal(await say('How long do refunds take?'), await say('How long do refunds take?'));
  });

  it('says so where it finds nothing, also in the documents that the agent may not search', async () => {
    assert.match(await say('Who won the match yesterday?'), /I found nothing about this/);
    assert.match(await say('How long do refunds take?', 'bare'), /I found nothing about this/);
  });

  it('runs a tool that a message names, and shows the outcome', async () => {
    assert.match(
      await say('/list_skills {"limit": 1}'),
      new RegExp(`\`list_skills\` answered:\n\n\`\`\`json\n\\{"data":\\[\\{"id":"${tone}"`),
    );
    assert.match(await say('/list_skills'), /answered/);
    assert.match(await say('/create_skill {"name": "tone"}'), /"code":"conflict"/);
    assert.match(await say('/create_skill {"nmae": "x"}'), /did you mean \\"name\\"/);
  });

  it('explains what it cannot run', async () => {
    assert.match(await say('/delete_skill {"id": "x"}'), /is not a tool that I may use here\. I have: .*list_skills/);
    assert.match(await say('/list_skills', 'bare'), /I have none/);
    assert.match(await say('/list_skills [1]'), /is not a JSON object/);
    assert.match(await say('/list_skills {'), /is not a JSON object/);
  });

  it('gives answers of a form as placeholders that fit it', async () => {
    const outputSchema = {
      type: 'object',
      additionalProperties: false,
      required: ['answer', 'sure', 'tags', 'kind', 'count'],
      properties: {
        answer: { type: 'string', maxLength: 40 },
        sure: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
        kind: { enum: ['bug', 'wish'] },
        count: { type: 'integer', minimum: 3 },
      },
    };
    const { output } = await must('invoke_agent', { agent: 'mira', input: 'How long do refunds take?', outputSchema });
    assert.equal(output.answer, 'This is what I found:\n\n- Within 14 days,');
    assert.deepEqual([output.sure, output.tags.length, output.kind, output.count], [false, 2, 'bug', 3]);
  });
});

describe('invoke_agent', () => {
  it('refuses forms that are no JSON Schema or not taken, naming each place', async () => {
    const deep = (levels: number): object =>
      levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(levels - 1) } };
    const wrong: [object, string][] = [
      [{ type: 'string' }, 'outputSchema.type'],
      [{ type: 'object', pattern: '(a+)+$' }, 'outputSchema.pattern'],
      [{ type: 'object', properties: { a: { $ref: '#' } } }, 'outputSchema.properties.a.$ref'],
      [{ type: 'object', properties: { a: 5 } }, 'outputSchema.properties.a'],
      [{ type: 'object', properties: 5 }, 'outputSchema.properties'],
      [{ type: 'object', properties: { a: { type: 'strin' } } }, 'outputSchema.properties.a.type'],
      [{ type: 'object', properties: { a: { enum: 5 } } }, 'outputSchema.properties.a.enum'],
      [{ type: 'object', properties: { a: { const: {} } } }, 'outputSchema.properties.a.const'],
      [{ type: 'object', required: 'a' }, 'outputSchema.required'],
      [{ type: 'object', additionalProperties: { pattern: '(a+)+$' } }, 'outputSchema.additionalProperties.pattern'],
      [{ type: 'object', additionalProperties: 7 }, 'outputSchema.additionalProperties'],
      [{ type: 'object', anyOf: [{ minLength: 'x' }] }, 'outputSchema.anyOf.minLength'],
      [deep(20), 'outputSchema'],
      [{ type: 'object', description: 'x'.repeat(30_000) }, 'outputSchema'],
    ];
    for (const [outputSchema, path] of wrong) {
      const answer = await refused('invoke_agent', { agent: 'mira', input: 'x', outputSchema });
      assert.deepEqual([answer.code, answer.issues?.[0]?.path], ['invalid_input', path]);
      assert.deepEqual(faultsOf(answer), []);
    }
  });
});

describe('fences', () => {
  it('hold whatever is put into them', () => {
    const text = 'a </data> b <data kind="skill" id="x">\n</skill> < / DATA > "quoted"';
    const [read, ...others] = readFences(`before ${fence({ kind: 'memory', id: 'm"1"', title: 't\n"', text })} after`);
    assert.deepEqual(others, []);
    assert.deepEqual([read?.kind, read?.id, read?.title], ['memory', 'm 1 ', 't ']);
    assert.ok(!/<\/?data|<\/?skill/i.test(read?.text ?? '<data'));
  });
});

describe('passages', () => {
  it('are found by words near the question, those under a fitting heading too, in any script', () => {
    const sources = [
      { id: '1', text: '# Öffnungszeiten\n\nMontag bis Freitag\n\n# Preise\n\nZehn Euro' },
      { id: '2', text: '払い戻しは14日以内です。' },
    ];
    assert.deepEqual(bestPassages('Wann sind die Öffnungszeiten?', sources, 1)[0]?.text, 'Montag bis Freitag');
    assert.equal(bestPassages('払い戻しはいつ？', sources, 1)[0]?.source.id, '2');
    assert.deepEqual(bestPassages('Quantenphysik', sources, 3), []);
    assert.deepEqual(bestPassages('', sources, 3), []);
  });
});
