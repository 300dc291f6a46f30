import { labelOf } from '../../format.ts';
import type { JsonSchema } from '../../schema.ts';
import type { PartProps } from './state.ts';

export function titleOf({ schema, name }: Pick<PartProps, 'schema' | 'name'>): string {
  return schema.title ?? labelOf(name);
}

/** Descriptions are written for models: what leads them to a list, or how an id or a day is written, stands in the control here. */
export function hintOf({ description }: JsonSchema): string | undefined {
  const hint = description
    ?.replaceAll('`', '')
    .replace(/[,;]? ?see list_\w+/g, '')
    .replace(/ \((\w{3}_…)\)/g, '')
    .replace(/^(Model id|Agent id or name|Like \d{4}-\d\d-\d\d)\.( |$)/, '')
    .replace(/: id or name\./g, '.')
    .replace(/\s+\./g, '.');
  return hint === '' || hint === '.' ? undefined : hint;
}
