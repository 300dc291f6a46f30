import assert from 'node:assert/strict';
import { analyzeTexts } from '../../../tools/flows/analyze-texts.ts';
import { MOST_WORK } from '../../../tools/flows/definition-texts.ts';
import { isTemplate, limitProblem, workOf } from '../../../tools/flows/expressions.ts';
import { holds, LARGEST, render, type TemplateScope } from '../../../tools/flows/render.ts';
import { isCheapCondition, isCheapTemplate } from '../../../tools/flows/template-evaluator.ts';
import { bytesOf, headAndRest, type Target, textOf } from '../target.ts';

const scope: TemplateScope = {
  input: {
    name: 'Ada',
    items: [1, 'b', null, { c: [] }],
    text: 'x'.repeat(500),
    deep: { a: { b: { c: 'd' } } },
    no: null,
  },
  steps: { read: { output: { id: 'agt_1', count: 3, list: [{ n: 1 }, { n: 2 }] } }, none: { output: null } },
};
const before = JSON.stringify(scope);
/** What may be computed in the process of the server takes no longer. */
const CHEAP_MS = 250;

/** Templates and conditions of flows, the first line of an input saying which. */
export const expressions: Target = {
  about: 'Liquid templates and CEL conditions of flows',
  sources: ['tools/flows', 'test/tools/flow-render.test.ts', 'test/tools/bounded-work.test.ts'],
  packages: ['liquidjs', '@marcbachmann/cel-js'],
  seeds: [
    'template\n{{ input.name | upcase | append: "a" }}',
    'template\n{{ steps.read.output }}',
    'template\n{% for i in input.items %}{{ i }},{% else %}none{% endfor %}',
    'template\n{% assign a = "b,c" | split: "," %}{{ a | join: "-" | replace: "b", "d" | truncate: 5 }}',
    'template\n{% if input.no == nil and steps.read.output.count > 2 %}a{% elsif true %}b{% endif %}',
    'template\n{{ steps.read.output.list | map: "n" | sort | reverse | json }}{{ input["deep"].a["b"].c }}',
    'template\n{% raw %}{{ a }}{% endraw %}{% comment %}x{% endcomment %}{{- 1 | plus: 2 -}}{{ "now" | date: "%Y" }}',
    'template\n{% capture c %}{{ input.text }}{% endcapture %}{{ c | size | times: 3 }}{% increment n %}{% case 1 %}{% when 1 %}a{% endcase %}',
    'template\n{% tablerow x in (1..3) cols:2 %}{{ x }}{% endtablerow %}{% cycle "a","b" %}{% liquid\nassign x = 1\necho x %}',
    'condition\nsteps.read.output.count > 2 && input.name == "Ada"',
    'condition\nhas(input.deep.a) ? input.items.size() == 4 : false',
    'condition\ninput.items.exists(i, i == 1) || ["a"].all(x, x.startsWith("a")) || input.name.matches("^A")',
    'condition\ntimestamp("2026-01-01T00:00:00Z") < timestamp("2027-01-01T00:00:00Z") && duration("1h") > duration("1s")',
    'condition\n{"a": [1u, 2.5, b"c", null, true]}["a"].size() + int("3") * -1 % 2 == 0 && !("x" in ["y"])',
    bytesOf('condition\nsteps["read"].output.list.map(x, x.n).filter(n, n > 1)[0] == 2 && "ä".contains("\\u00e4")'),
  ],
  open: async () => ({
    run(input) {
      const { head, rest } = headAndRest(input);
      const text = textOf(rest);
      if (head.startsWith('condition')) judgeCondition(text);
      else judgeTemplate(text);
      assert.equal(JSON.stringify(scope), before, 'what the texts see was changed');
      assert.equal(({} as Record<string, unknown>).a, undefined);
    },
    close() {},
  }),
};

function judgeTemplate(text: string): void {
  if (limitProblem(text) !== undefined || workOf(text) > MOST_WORK) return;
  const { templates } = analyzeTexts({ templates: [text], conditions: [] });
  requireParsed(templates[0]);
  const rendered = outcomeOf(() => render(text, scope), isCheapTemplate(text));
  if (typeof rendered.value === 'string') assert.ok(rendered.value.length <= LARGEST);
  if (!isTemplate(text)) assert.equal(rendered.value, text);
}

function judgeCondition(text: string): void {
  const { conditions } = analyzeTexts({ templates: [], conditions: [text] });
  requireParsed(conditions[0]);
  const { value } = outcomeOf(() => holds(text, scope), isCheapCondition(text));
  if (value !== undefined) assert.equal(typeof value, 'boolean');
}

function requireParsed(
  parsed: { readonly references: readonly unknown[]; readonly problem?: string } | undefined,
): void {
  assert.ok(parsed);
  if (parsed.problem !== undefined) assert.notEqual(parsed.problem, '');
  for (const path of parsed.references) assert.ok(Array.isArray(path) && path.length > 0);
}

/** What the work gives, or the sentence with which it is refused. */
function outcomeOf(work: () => unknown, isCheap: boolean): { readonly value?: unknown } {
  const begun = process.cpuUsage();
  try {
    return { value: work() };
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    assert.match(message, /^(The (template|condition|arguments)s? )/, message);
    return {};
  } finally {
    const { user } = process.cpuUsage(begun);
    if (isCheap) assert.ok(user / 1000 < CHEAP_MS, `a text that counts as cheap takes ${user / 1000} ms`);
  }
}
