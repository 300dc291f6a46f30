import { openSync } from 'node:fs';
import { devNull } from 'node:os';
import { analyzedTextsOf } from '../../tools/flows/definition-texts.ts';
import { TemplateEvaluator } from '../../tools/flows/template-evaluator.ts';

/** Opens files until no more can be opened, then fills a template and judges a condition. Run by the test as a process of its own. */
const kept: number[] = [];
try {
  for (;;) kept.push(openSync(devNull, 'r'));
} catch {
  const filling = new TemplateEvaluator();
  const scope = { input: { tag: 'x' }, steps: {} };
  const steps = [{ id: 'a', tool: 'list_agents', arguments: { text: '{{ input.tag }}' } }];
  await analyzedTextsOf({ steps } as unknown as Parameters<typeof analyzedTextsOf>[0], ''); // what it reads of a flow
  console.log(await filling.render('{{ input.tag }}', scope), await filling.holds('input.tag == "x"', scope));
}
