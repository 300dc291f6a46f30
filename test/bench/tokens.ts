import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { catalog } from '../../tools/catalog.ts';
import { isListed } from '../../tools/core/access/guarded-tool.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { listedTool } from '../../tools/core/registry/listed-tool.ts';

/** What tool lists cost in a model's context, in tokens of o200k_base. Run with `npx tsx test/bench/tokens.ts`. */
const CAPSULE =
  'list_threads get_thread list_messages search list_memories create_memory get_user get_user_billing'.split(' ');

const all = catalog.entries.map(({ tool }) => tool);
const listed = all.filter(isListed);

function tokens(tools: readonly Tool[], whole = true): number {
  const shown = tools
    .map((tool) => listedTool(tool))
    .map(({ outputSchema, ...rest }) => (whole ? { ...rest, outputSchema } : rest));
  return encode(JSON.stringify({ tools: shown })).length;
}

function row(name: string, tools: readonly Tool[]) {
  const [lean, whole] = [tokens(tools, false), tokens(tools)];
  const mean = Math.round(lean / tools.length);
  return { list: name, tools: tools.length, tokens: lean, 'per tool': mean, 'with output schemas': whole };
}

console.table([
  row('all tools', listed),
  row(
    'mode=search',
    all.filter(({ discovery }) => discovery),
  ),
  row(
    'a capsule of 8',
    listed.filter(({ name }) => CAPSULE.includes(name)),
  ),
]);
const dearest = listed.map((tool) => ({ name: tool.name, tokens: tokens([tool], false) }));
console.table(dearest.sort((one, other) => other.tokens - one.tokens).slice(0, 10));
