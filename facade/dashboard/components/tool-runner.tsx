import { useState } from 'preact/hooks';
import { act } from '../answer-cache.ts';
import { pathOf, refOfId } from '../kinds.ts';
import type { JsonSchema } from '../schema.ts';
import { useTool } from '../tools.ts';
import { ConfirmDialog } from './action.tsx';
import { Json } from './code.tsx';
import { Form } from './form/form.tsx';
import type { Members } from './form/state.ts';
import { Badge, Empty, Link } from './small.tsx';
import { Table } from './table.tsx';
import { Fields, titleIn, Value } from './value.tsx';

/** The form of a tool and what it answered. What destroys asks before. */
export function ToolRunner({ name, start }: { readonly name: string; readonly start?: Members }) {
  const tool = useTool(name);
  const [answer, setAnswer] = useState<Members>();
  const [asked, setAsked] = useState<Members>();
  if (!tool) return <Empty title={`There is no tool ${name}`}>You may not call it, or its integration is away.</Empty>;
  const run = async (input: Members) => {
    setAnswer(await act(name, input));
  };
  const destroys = tool.annotations?.destructiveHint === true;
  return (
    <div class="runner">
      <Form
        tool={name}
        start={start ?? {}}
        action="Run"
        run={async (input) => {
          if (destroys) setAsked(input);
          else await run(input);
        }}
      />
      {answer && <Answered answer={answer} schema={tool.outputSchema} />}
      {asked && (
        <ConfirmDialog
          title={`Run ${tool.title ?? name}?`}
          action="Run"
          run={() => run(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>This tool can destroy something: {tool.description}</p>
          <Json value={asked} label="Input" />
        </ConfirmDialog>
      )}
    </div>
  );
}

function Answered({ answer, schema }: { readonly answer: Members; readonly schema: JsonSchema | undefined }) {
  const [raw, setRaw] = useState(false);
  return (
    <section class="answered" aria-label="Answer">
      <header class="section-head">
        <h2>
          Answer <Badge tone="good">OK</Badge>
        </h2>
        <label class="check">
          <input type="checkbox" checked={raw} onChange={({ currentTarget }) => setRaw(currentTarget.checked)} />
          JSON
        </label>
      </header>
      {raw ? <Json value={answer} /> : <Shown answer={answer} schema={schema} />}
    </section>
  );
}

/** A list as a table, anything else as fields. */
export function Shown({ answer, schema }: { readonly answer: Members; readonly schema?: JsonSchema | undefined }) {
  const list = Object.entries(answer).find(
    ([name, value]) => Array.isArray(value) && ['data', 'series', 'cohorts', 'rows'].includes(name),
  );
  const rows = list?.[1] as readonly Members[] | undefined; // lists of the tools hold objects
  const rest = Object.fromEntries(
    Object.entries(answer).filter(([name, value]) => name !== list?.[0] && name !== 'nextCursor' && value !== null),
  );
  return (
    <>
      <Fields record={rest} schema={schema} />
      {rows && rows.length > 0 && <Rows rows={rows} schema={schema?.properties?.[list?.[0] ?? '']?.items} />}
      {rows?.length === 0 && <p class="quiet">Nothing in the list.</p>}
    </>
  );
}

const MOST_COLUMNS = 7;

function Rows({ rows, schema }: { readonly rows: readonly Members[]; readonly schema: JsonSchema | undefined }) {
  const title = titleMemberOf(rows);
  const found = [...new Set(rows.slice(0, 20).flatMap((row) => Object.keys(row)))];
  const names = title === undefined ? found : [title, ...found.filter((name) => name !== 'id' && name !== title)];
  const columns = names.slice(0, MOST_COLUMNS).map((name) => ({
    title: titleIn(schema, name),
    end: typeof rows[0]?.[name] === 'number',
    cell: (row: Members) =>
      name === title ? (
        <Link to={pathOf(String(row.id)) ?? ''}>{String(row[name])}</Link>
      ) : (
        <Value value={row[name]} schema={schema?.properties?.[name]} />
      ),
  }));
  return <Table label="Answer" columns={columns} rows={rows} keyOf={(row) => String(row.id ?? rows.indexOf(row))} />;
}

/** The member by which people know such records, where it leads to their page. */
function titleMemberOf([first = {}]: readonly Members[]): string | undefined {
  const id = String(first.id ?? '');
  const title = refOfId(id)?.title;
  return title !== undefined && first[title] !== undefined && pathOf(id) !== undefined ? title : undefined;
}
