import { useState } from 'preact/hooks';
import { act, call, findListed, go, useLocation, useNames, useTitle, useTool } from '../app.ts';
import { draftPlace, endDraft } from '../components/form/draft.tsx';
import { Form } from '../components/form/form.tsx';
import { useConflict } from '../components/use-conflict.tsx';
import { DetailBar, LinkButton, toast } from '../ui.ts';
import { idOf, type KindSpec, makingOf, naming, pathOf, type Row, titleOf } from './spec.ts';

/** Changes a record. Who changed it meanwhile is not overwritten unseen: both states are shown. */
export function EditForm({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  // What the form was begun on, although the record beside it is renewed.
  const [begun] = useState(row);
  const [revision, setRevision] = useState(row.revision);
  const { draft: Draft } = spec;
  const fields = useFields(spec);
  const [id, title] = [idOf(spec, row), titleOf(spec, row)];
  const place = draftPlace(`${spec.one} ${id}`);
  const end = () => {
    endDraft(place);
    go(pathOf(spec, row));
  };
  const save = async (input: Row, on: unknown) => {
    const guard = typeof on === 'number' && { expectedRevision: on };
    await act(`update_${spec.one}`, { ...input, ...naming(spec, id), ...guard });
    toast(`${title} was saved.`);
    end();
  };
  const names = useNames();
  const { see, dialog } = useConflict({
    read: () => readNow(spec, id, names),
    save: (mine, theirs) => save(mine, theirs.revision),
    onTakeTheirs: end,
  });
  return (
    <div class="form-pane">
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label={`Back to ${title}`} to={pathOf(spec, row)} />
        <h1>Edit {title}</h1>
      </header>
      <Form
        tool={`update_${spec.one}`}
        record={begun}
        given={naming(spec, id)}
        {...fields}
        below={(value) => Draft && <Draft value={value} id={id} />}
        draft={{ place, revision: numberIn(revision), now: numberIn(row.revision), onTake: setRevision }}
        run={(input) => save(input, revision)}
        onError={(error, input) => void see(error, withoutNaming(spec, id, input))}
        onCancel={end}
      />
      {dialog}
    </div>
  );
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function useFields({ controls = {}, hidden = [], hiddenIn, advanced, fields, useInherited }: KindSpec) {
  return { own: controls, hidden, hiddenIn, advanced, words: fields, inherited: useInherited?.() };
}

function withoutNaming(spec: KindSpec, id: string, input: Row): Row {
  const named = naming(spec, id);
  return Object.fromEntries(Object.entries(input).filter(([name]) => !(name in named)));
}

async function readNow(spec: KindSpec, id: string, names: ReadonlySet<string>): Promise<Row | undefined> {
  if (names.has(`get_${spec.one}`)) return call<Row>(`get_${spec.one}`, naming(spec, id));
  return findListed<Row>(`list_${spec.many}`, { limit: 100, ...spec.input }, (row) => idOf(spec, row) === id);
}

/** The id of the record that was made last, until its heading has the focus. */
let justMade: string | undefined;

/** Whether the record was made just now; told once. */
export function tookJustMade(id: string): boolean {
  if (justMade !== id) return false;
  justMade = undefined;
  return true;
}

export function CreatePane({ spec }: { readonly spec: KindSpec }) {
  const tool = useTool(`create_${spec.one}`);
  const { draft: Draft, start = {} } = spec;
  const { title, action, said } = makingOf(spec);
  const fields = useFields(spec);
  const intro = spec.makes?.intro ?? tool?.description?.replaceAll('`', '').replace(/ Returns [^.]*\./g, ''); // answers are for programs
  const { query } = useLocation();
  useTitle(title);
  const create = async (input: Row) => {
    const made = await act<Row>(`create_${spec.one}`, input);
    justMade = idOf(spec, made);
    go(pathOf(spec, made));
    toast(`${titleOf(spec, made)} ${said}.`);
    spec.onCreated?.(made);
  };
  return (
    <section class="detail-pane" aria-label={title}>
      <div class="form-pane">
        <DetailBar all={spec.words.many} to={spec.path}>
          <h1>{title}</h1>
        </DetailBar>
        {intro && <p class="quiet form-intro">{intro}</p>}
        <Form
          tool={`create_${spec.one}`}
          start={typeof start === 'function' ? start(query) : start}
          {...fields}
          below={(value) => Draft && <Draft value={value} />}
          draft={{ place: draftPlace(`${spec.one} new`) }}
          autoFocus
          action={action}
          run={create}
          onCancel={() => go(spec.path)}
        />
      </div>
    </section>
  );
}
