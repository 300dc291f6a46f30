import { useState } from 'preact/hooks';
import { isLong, refOf } from '../../../components/form/control.tsx';
import { JsonText } from '../../../components/form/field.tsx';
import { Group, Pairs } from '../../../components/form/groups.tsx';
import { List, Union } from '../../../components/form/lists.tsx';
import { Part } from '../../../components/form/part.tsx';
import { hintOf, initial, issueAt, type PartProps, titleOf } from '../../../components/form/state.ts';
import { isObjectSchema, type JsonSchema, withoutNull } from '../../../schema.ts';
import { Button } from '../../../ui.ts';
import { DataField } from './data-field.tsx';
import { templateFor } from './data-tree.ts';

/** The part of a form for an argument of a step: a value as the tool takes it, or a text that data of earlier steps is filled into. */
export function ArgumentPart(props: PartProps) {
  const { schema } = withoutNull(props.schema);
  const { value } = props;
  const [isData, setData] = useState(false);
  const plain = { ...props, schema, setData };
  if (isFreeText(props.name, schema) && (value === undefined || typeof value === 'string')) {
    return <TextArgument {...plain} />;
  }
  if (typeof value === 'string' && (isTemplate(value) || isData)) return <FilledArgument {...plain} />;
  if (value === undefined && isData) return <FilledArgument {...plain} />;
  if (!fits(schema, value)) return <JsonText {...plain} />;
  return <ChosenArgument {...plain} />;
}

export function isTemplate(text: string): boolean {
  return text.includes('{{') || text.includes('{%');
}

function isFreeText(name: string, schema: JsonSchema): boolean {
  return (
    schema.type === 'string' &&
    !schema.enum &&
    !schema.format &&
    refOf(name, schema) === undefined &&
    !schema['x-control']
  );
}

/** Whether the part for the schema can show the value without losing any of it. */
function fits(schema: JsonSchema, value: unknown): boolean {
  if (value === undefined || schema.anyOf) return true;
  const is = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  if (is === 'number') return schema.type === 'number' || schema.type === 'integer' || schema.enum !== undefined;
  return schema.type === is || (schema.type === undefined && is === 'object');
}

function wordsOf(props: PartProps) {
  return { label: titleOf(props), hint: hintOf(props.schema), needed: props.needed, issue: issueAt(props) };
}

/** A text, written as it is typed. */
function TextArgument(props: PartProps) {
  const { name, schema, value, onChange } = props;
  return (
    <DataField
      {...wordsOf(props)}
      rows={isLong(name, schema) ? 5 : 1}
      value={typeof value === 'string' ? value : ''}
      onType={(text) => onChange(text === '' ? undefined : text)}
    />
  );
}

type Switched = PartProps & { readonly setData: (isData: boolean) => void };

/** A value of another kind than a text, taken from data. */
function FilledArgument(props: Switched) {
  const { schema, value = '', onChange, needed, setData } = props;
  return (
    <DataField
      {...wordsOf(props)}
      value={String(value)}
      written={templateFor}
      onType={(text) => {
        setData(true);
        onChange(text === '' ? undefined : text);
      }}
      more={
        <Button
          look="quiet"
          text="Choose a value instead"
          onClick={() => {
            setData(false);
            onChange(needed ? initial(schema) : undefined);
          }}
        />
      }
    />
  );
}

/** A value that is chosen; or data is taken instead. */
function ChosenArgument(props: Switched) {
  const { schema, onChange, setData } = props;
  const label = titleOf(props);
  if (isObjectSchema(schema)) return <Group {...props} part={ArgumentPart} />;
  return (
    <div class="data-field">
      <Inner {...props} />
      <div class="data-actions">
        <Button
          look="quiet"
          text="Take it from data"
          label={`Take it from data: ${label}`}
          onClick={() => {
            setData(true);
            onChange(undefined);
          }}
        />
      </div>
    </div>
  );
}

function Inner(props: PartProps) {
  const { schema } = props;
  if (schema.anyOf?.every(isObjectSchema)) return <Union {...props} part={ArgumentPart} />;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object')
    return <Pairs {...props} part={ArgumentPart} />;
  const items = schema.items?.type;
  if (schema.type === 'array' && items !== 'string' && schema['x-control'] !== 'tools')
    return <List {...props} part={ArgumentPart} />;
  return <Part {...props} />;
}
