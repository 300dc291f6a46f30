import { isObjectSchema, withoutNull } from '../../schema.ts';
import { ToolsPicker } from '../tools-picker.tsx';
import { Control } from './control.tsx';
import { JsonText } from './field.tsx';
import { Group, Pairs } from './groups.tsx';
import { LinesOrWord, List, Union, wordBeside } from './lists.tsx';
import type { PartProps } from './state.ts';

/** The part of a form for any schema. */
export function Part(props: PartProps) {
  const { schema } = withoutNull(props.schema);
  const plain = { ...props, schema };
  if (schema.anyOf) {
    if (schema.anyOf.every(isObjectSchema)) return <Union {...plain} part={Part} />;
    const word = wordBeside(schema);
    return word === undefined ? <JsonText {...plain} /> : <LinesOrWord {...plain} word={word} />;
  }
  if (isObjectSchema(schema)) return <Group {...plain} part={Part} />;
  if (schema.type === 'object') {
    return typeof schema.additionalProperties === 'object' ? <Pairs {...plain} part={Part} /> : <JsonText {...plain} />;
  }
  if (schema['x-control'] === 'tools') return <ToolsPicker {...plain} />;
  if (schema.type === 'array') return <List {...plain} part={Part} />;
  return typeof schema.type === 'string' || schema.enum ? <Control {...plain} /> : <JsonText {...plain} />;
}
