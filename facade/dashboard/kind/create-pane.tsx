import { act, go, text, usePlace, useTitle, useTool } from '../app.ts';
import { Form } from '../components/form/form.tsx';
import { LinkButton, toast } from '../ui.ts';
import { type KindSpec, pathOf, type Row, titleOf } from './spec.ts';

/** The form for a new record. */
export function CreatePane({ spec }: { readonly spec: KindSpec }) {
  const tool = useTool(`create_${spec.one}`);
  const { draft: Draft, start = {} } = spec;
  const { query } = usePlace();
  useTitle(`New ${spec.words.one}`);
  const create = async (input: Row) => {
    const made = await act<Row>(`create_${spec.one}`, input);
    go(pathOf(spec, made));
    toast(`${titleOf(spec, made)} was created.`);
    spec.onCreated?.(made);
  };
  return (
    <section class="detail-pane" aria-label={`New ${spec.words.one}`}>
      <div class="form-pane">
        <header class="detail-bar">
          <LinkButton look="quiet" icon="back" label={`All ${spec.words.many}`} to={spec.path} />
          <h1>New {spec.words.one}</h1>
        </header>
        {tool?.description && <p class="quiet form-intro">{introOf(tool.description)}</p>}
        <Form
          tool={`create_${spec.one}`}
          start={typeof start === 'function' ? start(query) : start}
          own={spec.controls ?? {}}
          below={(value) => Draft && <Draft value={value} />}
          begins
          action={`${text.create} ${spec.words.one}`}
          run={create}
          onCancel={() => go(spec.path)}
        />
      </div>
    </section>
  );
}

/** What a tool does, without what it answers: that is for programs. */
function introOf(description: string): string {
  return description.replaceAll('`', '').replace(/ Returns [^.]*\./g, '');
}
