import type { FlowRunRecord } from '../../../resources/flow-run.ts';
import { shownArguments } from '../../core/history/audit-entry.ts';
import { secretsIn } from '../../core/history/redact.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import type { Tool } from '../../core/registry/define-tool.ts';
import type { TemplateScope } from '../render.ts';

const LONGEST_SHOWN = 16 * 1024;

interface StoredInput {
  /** As runs show it. */
  readonly shown: Record<string, unknown>;
  /** For a repeat of the call. An input with a secret is not stored; it is made again from the outputs of earlier steps. */
  readonly stored?: Record<string, unknown>;
}

/** What is kept of the input of a step. */
export function storedInput(tool: Tool | undefined, input: Record<string, unknown>, catalog: Catalog): StoredInput {
  if (!tool) return { shown: {}, stored: input };
  const shown = shownArguments(tool, input, { tools: catalog, longest: LONGEST_SHOWN });
  return secretsIn(tool, input, catalog).length === 0 ? { shown, stored: input } : { shown };
}

/** What the templates of the run's next step can use. */
export function scopeOf({ input = {}, steps }: Pick<FlowRunRecord, 'input' | 'steps'>): TemplateScope {
  const ended = steps.filter(({ status }) => status !== 'pending' && status !== 'running');
  return { input, steps: Object.fromEntries(ended.map(({ id, output }) => [id, { output: output ?? null }])) };
}
