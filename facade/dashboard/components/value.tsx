import type { ComponentChildren } from 'preact';
import { useAnswer } from '../answer-cache.ts';
import { callerWord, labelOf, number } from '../format.ts';
import { pathOf, refOfId, titleOf } from '../kinds.ts';
import { type JsonSchema, withoutNull } from '../schema.ts';
import { useMay } from '../tools.ts';
import { Json } from './code.tsx';
import { Badge, Link, Mono, NamedValue, Time } from './small.tsx';
import { Table } from './table.tsx';

const ID = /^[a-z]{3}_[\w-]{8,}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

type ValueProps = Readonly<{ value: unknown; schema?: JsonSchema | undefined }>;

/** A value of a record in the way that suits its kind. */
export function Value({ value, schema = {} }: ValueProps): ComponentChildren {
  const { schema: plain } = withoutNull(schema);
  if (value === undefined || value === null || value === '') return <span class="faint">–</span>;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (typeof value === 'number') return <span class="number">{number(value)}</span>;
  if (typeof value === 'string') return <Text value={value} schema={plain} />;
  if (Array.isArray(value)) return <Items items={value} schema={plain.items} />;
  const members = Object.entries(value);
  if (members.length === 0) return <span class="faint">–</span>;
  if (members.length <= 8 && members.every(([, member]) => isPlain(member))) {
    return <Fields record={Object.fromEntries(members)} schema={plain} />;
  }
  return <Json value={value} />;
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Array.isArray(value) && value.every(isText));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function Text({ value, schema }: { readonly value: string; readonly schema: JsonSchema }) {
  const words = schema['x-words']?.[value];
  if (schema.enum !== undefined) return <Badge value={value}>{words}</Badge>;
  if (words !== undefined) return words;
  if (INSTANT.test(value) && !Number.isNaN(Date.parse(value))) return <Time at={value} />;
  if (ID.test(value)) return <Ref id={value} />;
  return <span class="text">{value}</span>;
}

function Items({ items, schema }: { readonly items: readonly unknown[]; readonly schema: JsonSchema | undefined }) {
  if (items.length === 0) return <span class="faint">None</span>;
  if (items.every(isFlat)) return <Records records={items} schema={schema} />;
  if (!items.every(isText)) return <Json value={items} />;
  return (
    <span class="chips">
      {items.map((item) =>
        ID.test(item) ? (
          <Ref key={item} id={item} />
        ) : (
          <span key={item} class={schema?.enum ? 'badge plain' : 'chip'}>
            {item}
          </span>
        ),
      )}
    </span>
  );
}

type Members = Readonly<Record<string, unknown>>;

const MOST_MEMBERS = 6;

/** Whether it fits into a row of a table. */
function isFlat(item: unknown): item is Members {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return false;
  const members = Object.values(item);
  return members.length <= MOST_MEMBERS && members.every(isPlain);
}

function Records({ records, schema }: Readonly<{ records: readonly Members[]; schema: JsonSchema | undefined }>) {
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const columns = names.map((name) => ({
    title: titleIn(schema, name),
    end: typeof records[0]?.[name] === 'number',
    cell: (record: Members) => <Value value={record[name]} schema={schema?.properties?.[name]} />,
  }));
  return <Table label="List" columns={columns} rows={records} keyOf={(record) => String(records.indexOf(record))} />;
}

/** Where a kind has no tool that reads one record, its name is looked for among these. */
const LISTED = { limit: 100 };

/** The name of a record, where it can be read. */
export function useRecordName(id: string): string | undefined {
  const ref = refOfId(id);
  const mayRead = useMay(ref?.get);
  const mayList = useMay(ref?.list) && ref?.get === undefined;
  const { data: got } = useAnswer<Members>(mayRead ? ref?.get : undefined, { id });
  const { data: listed } = useAnswer<{ readonly data: readonly Members[] }>(mayList ? ref?.list : undefined, LISTED);
  const record = got ?? listed?.data.find((one) => one.id === id);
  return ref && record && titleOf(ref, record);
}

/** A record by its name; by its id where the name cannot be read. */
export function RecordName({ id }: { readonly id: string }) {
  return useRecordName(id) ?? id;
}

/** A record by its name, leading to its page; by its id where the name cannot be read. */
export function Ref({ id }: { readonly id: string }) {
  return <NamedRef id={id} name={useRecordName(id)} />;
}

type NamedRefProps = Readonly<{ id: string; name: string | undefined; path?: string | undefined }>;

/** A record whose name is known, leading to its page. */
export function NamedRef({ id, name, path = pathOf(id) }: NamedRefProps) {
  const shown = name ?? <Mono>{id}</Mono>;
  return path === undefined ? <span>{shown}</span> : <Link to={path}>{shown}</Link>;
}

/** Names and values one below the other. Members without a value are left out. */
export function Fields({
  record,
  schema,
  only,
  inherited = {},
}: {
  readonly record: Readonly<Record<string, unknown>>;
  readonly schema?: JsonSchema | undefined;
  readonly only?: readonly string[] | undefined;
  /** What holds where a member has no value, in words. */
  readonly inherited?: Readonly<Record<string, string>>;
}) {
  const names = (only ?? Object.keys(record)).filter((name) => (record[name] ?? inherited[name]) !== undefined);
  return (
    <dl class="fields">
      {names.map((name) => (
        <NamedValue key={name} name={titleIn(schema, name)} about={schema?.properties?.[name]?.description}>
          {record[name] === undefined ? (
            <span class="quiet">{inherited[name]}</span>
          ) : (
            <Value value={record[name]} schema={schema?.properties?.[name]} />
          )}
        </NamedValue>
      ))}
    </dl>
  );
}

/** What a member is called. */
export function titleIn(schema: JsonSchema | undefined, name: string): string {
  return schema?.properties?.[name]?.title ?? labelOf(name);
}

/** Who called, as the audit log and runs name them. */
type CallerRef = Readonly<{ type: string; id: string; name: string }>;

/** A caller by the name of then, leading to its page if there is one. */
export function Caller({ caller: { type, id, name } }: { readonly caller: CallerRef }) {
  const path = pathOf(id);
  return (
    <>
      {path === undefined ? name : <Link to={path}>{name}</Link>} <span class="faint">{callerWord(type)}</span>
    </>
  );
}

/** Who called, and whom that one acted for. */
export function Callers({
  caller,
  onBehalfOf = [],
}: {
  readonly caller: CallerRef;
  readonly onBehalfOf?: readonly CallerRef[] | undefined;
}) {
  return (
    <>
      <Caller caller={caller} />
      {onBehalfOf.map((each) => (
        <span key={each.id}>
          {' '}
          for <Caller caller={each} />
        </span>
      ))}
    </>
  );
}
