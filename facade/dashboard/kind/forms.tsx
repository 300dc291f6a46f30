import { useState } from 'preact/hooks';
import { act, CallError, call, go, type ListAnswer, useLocation, useNames, useTitle, useTool } from '../app.ts';
import { ConflictDialog } from '../components/conflict.tsx';
import { Form } from '../components/form/form.tsx';
import { DetailBar, LinkButton, toast } from '../ui.ts';
import { idOf, type KindSpec, makingOf, naming, pathOf, type Row, titleOf } from './spec.ts';

/** Changes a record. Who changed it meanwhile is not overwritten unseen: both states are shown. */
export function EditForm({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  // What the form was begun on, although the record beside it is renewed.
  const [begun] = useState(row);
  const [conflict, setConflict] = useState<{ readonly mine: Row; readonly theirs: Row }>();
  const { draft: Draft } = spec;
  const names = useNames();
  const [id, title] = [idOf(spec, row), titleOf(spec, row)];
  const leave = () => go(pathOf(spec, row));
  const save = async (input: Row, revision: unknown) => {
    await act(`update_${spec.one}`, {
      ...input,
      ...naming(spec, id),
      ...(typeof revision === 'number' && { expectedRevision: revision }),
    });
    toast(`${title} was saved.`);
    leave();
  };
  const see = async (error: unknown, input: Row) => {
    if (!(error instanceof CallError) || error.code !== 'conflict' || error.currentRevision === undefined) return;
    const theirs = await readNow(spec, id, names);
    if (theirs) setConflict({ mine: withoutNaming(spec, id, input), theirs });
  };
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
        {...fieldsOf(spec)}
        hidden={spec.hidden ?? []}
        below={(value) => Draft && <Draft value={value} id={id} />}
        run={(input) => save(input, begun.revision)}
        onError={see}
        onCancel={leave}
      />
      {conflict && (
        <ConflictDialog
          {...conflict}
          onClose={() => setConflict(undefined)}
          onTakeTheirs={leave}
          onKeepMine={() => {
            setConflict(undefined);
            save(conflict.mine, conflict.theirs.revision).catch((error) => see(error, conflict.mine));
          }}
        />
      )}
    </div>
  );
}

function fieldsOf({ controls = {}, hiddenIn, advanced }: KindSpec) {
  return { own: controls, hiddenIn, advanced };
}

function withoutNaming(spec: KindSpec, id: string, input: Row): Row {
  const named = naming(spec, id);
  return Object.fromEntries(Object.entries(input).filter(([name]) => !(name in named)));
}

async function readNow(spec: KindSpec, id: string, names: ReadonlySet<string>): Promise<Row | undefined> {
  if (names.has(`get_${spec.one}`)) return call<Row>(`get_${spec.one}`, naming(spec, id));
  const { data } = await call<ListAnswer<Row>>(`list_${spec.many}`, { limit: 100, ...spec.input });
  return data.find((row) => idOf(spec, row) === id);
}

export function CreatePane({ spec }: { readonly spec: KindSpec }) {
  const tool = useTool(`create_${spec.one}`);
  const { draft: Draft, start = {} } = spec;
  const { title, action } = makingOf(spec);
  const intro = spec.makes?.intro ?? tool?.description?.replaceAll('`', '').replace(/ Returns [^.]*\./g, ''); // answers are for programs
  const { query } = useLocation();
  useTitle(title);
  const create = async (input: Row) => {
    const made = await act<Row>(`create_${spec.one}`, input);
    go(pathOf(spec, made));
    toast(`${titleOf(spec, made)} was created.`);
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
          {...fieldsOf(spec)}
          below={(value) => Draft && <Draft value={value} />}
          autoFocus
          action={action}
          run={create}
          onCancel={() => go(spec.path)}
        />
      </div>
    </section>
  );
}
