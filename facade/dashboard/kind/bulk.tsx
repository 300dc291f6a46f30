import { useState } from 'preact/hooks';
import { call, counted, type ListedTool, number, useNames, useTool, wordOf } from '../app.ts';
import { AddTyped } from '../components/form/add-typed.tsx';
import { optionsOf, Select } from '../components/form/select.tsx';
import { RecordButton } from '../components/record-button.tsx';
import { withoutNull } from '../schema.ts';
import { Button, ConfirmDialog, Dialog } from '../ui.ts';
import { type Made, type ManyWork, runMany } from './run-bulk.tsx';
import { idOf, type KindSpec, naming, type Row } from './spec.ts';

/** The tools by which many records of a kind are changed: those that change one. */
export function useManyTools(spec: KindSpec): ManyTools | undefined {
  const names = useNames();
  const update = useTool(`update_${spec.one}`);
  const remove = useTool(spec.ends?.tool ?? `delete_${spec.one}`);
  const members = update?.inputSchema.properties ?? {};
  const found = {
    update: names.has(`update_${spec.one}`) && CHANGED.some((name) => members[name]) ? update : undefined,
    remove: remove && names.has(remove.name) ? remove : undefined,
  };
  return found.update || found.remove ? found : undefined;
}

type ManyTools = Readonly<{ update: ListedTool | undefined; remove: ListedTool | undefined }>;

/** Members that mean the same for many records. */
const CHANGED = ['status', 'enabled', 'tags', 'projectId'];

interface ManyBarProps {
  readonly spec: KindSpec;
  readonly tools: ManyTools;
  readonly rows: readonly Row[];
  /** Those that are selected now; the others were done. */
  readonly onLeft: (rows: readonly Row[]) => void;
  /** Selects all that match, where not all of them are. */
  readonly all: Readonly<{ text: string; busy: boolean; run: () => void }> | undefined;
}

/** What can be done to the selected records. */
export function ManyBar({ spec, tools, rows, onLeft, all }: ManyBarProps) {
  const members = tools.update?.inputSchema.properties ?? {};
  const [asks, setAsks] = useState<'delete' | 'tags'>();
  const update = (said: string, input: (row: Row) => Row | undefined) =>
    runMany(updating(spec, tools, said, input), rows, onLeft);
  const set = (name: string, value: unknown, said: string) =>
    update(said, (row) => (row[name] === value ? undefined : { [name]: value }));
  const status = members.status && withoutNull(members.status).schema.enum?.filter((value) => value !== 'deleted');
  const project = members.projectId && withoutNull(members.projectId);
  return (
    <fieldset class="many-bar">
      <legend class="visually-hidden">Selected {spec.words.many}</legend>
      <strong role="status">{number(rows.length)} selected</strong>
      {all && <Button look="quiet" text={all.text} busy={all.busy} onClick={all.run} />}
      {status && (
        <Select
          class="filter-choice"
          aria-label="Set status"
          value=""
          none="Set status"
          options={optionsOf(status)}
          onPick={(picked) => picked !== '' && set('status', picked, `set to ${wordOf(picked).toLowerCase()}`)}
        />
      )}
      {members.enabled && (
        <>
          <Button text="Turn on" onClick={() => set('enabled', true, 'turned on')} />
          <Button text="Turn off" onClick={() => set('enabled', false, 'turned off')} />
        </>
      )}
      {members.tags && <Button text="Tags" onClick={() => setAsks('tags')} />}
      {project && (
        <RecordButton
          kinds={{ project: 'Projects' }}
          value=""
          button={{ class: 'filter-choice' }}
          onPick={(id) => id !== '' && set('projectId', id, 'moved')}
        >
          Move to project
        </RecordButton>
      )}
      {project?.nullable && rows.some(({ projectId }) => projectId !== undefined) && (
        <Button
          text="Take out of project"
          onClick={() =>
            update('taken out', ({ projectId }) => (projectId === undefined ? undefined : { projectId: null }))
          }
        />
      )}
      {tools.remove && <Button text={endOf(spec).action} icon="trash" onClick={() => setAsks('delete')} />}
      <Button look="quiet" icon="close" label="Select none" onClick={() => onLeft([])} />
      {asks === 'delete' && <DeleteMany {...{ spec, tools, rows, onLeft }} onClose={() => setAsks(undefined)} />}
      {asks === 'tags' && <TagMany rows={rows} update={update} onClose={() => setAsks(undefined)} />}
    </fieldset>
  );
}

/** Where the kind has versions, or is gone in any case, only the number is said; elsewhere it is typed. */
function DeleteMany({ spec, tools, rows, onLeft, onClose }: Omit<ManyBarProps, 'all'> & { onClose: () => void }) {
  const what = counted(rows.length, spec.words.one, spec.words.many);
  const { action, done, doing } = endOf(spec);
  const guarded = tools.remove?.inputSchema.properties?.expectedRevision !== undefined;
  const tool = tools.remove?.name ?? '';
  const change = async (row: Row) => {
    await call(tool, { ...naming(spec, idOf(spec, row)), ...(guarded && guardOf(row)) });
    return 'deleted' as const;
  };
  const isKept = spec.versions !== undefined;
  const losses = [...new Set(rows.flatMap((row) => spec.loss?.(row) ?? []))];
  const begin = async () => {
    onClose();
    runMany({ spec, tool, words: { doing, done }, change }, rows, onLeft);
  };
  return (
    <ConfirmDialog
      title={`${action} ${what}?`}
      action={`${action} ${what}`}
      typed={isKept || spec.isQuickToMake ? undefined : String(rows.length)}
      run={begin}
      onClose={onClose}
    >
      {losses.map((loss) => (
        <p key={loss}>{loss}</p>
      ))}
      <p>{isKept ? 'Their versions stay, so they can be brought back.' : 'They cannot be brought back.'}</p>
    </ConfirmDialog>
  );
}

function endOf({ ends }: KindSpec) {
  return ends ?? { action: 'Delete', doing: 'Deleting', done: 'deleted' };
}

function guardOf({ revision }: Row) {
  return typeof revision === 'number' ? { expectedRevision: revision } : {};
}

function updating(
  spec: KindSpec,
  { update }: ManyTools,
  done: string,
  inputFor: (row: Row) => Row | undefined,
): ManyWork {
  const tool = update?.name ?? '';
  const guarded = update?.inputSchema.properties?.expectedRevision !== undefined;
  const change = async (row: Row): Promise<Made | undefined> => {
    const input = inputFor(row);
    if (!input) return undefined;
    const now = await call(tool, { ...input, ...naming(spec, idOf(spec, row)), ...(guarded && guardOf(row)) });
    return typeof now.revision === 'number' && now.revision !== row.revision ? now.revision : undefined;
  };
  return { spec, tool, words: { doing: 'Changing', done }, change };
}

type TagManyProps = Readonly<{
  rows: readonly Row[];
  update: (said: string, input: (row: Row) => Row | undefined) => void;
  onClose: () => void;
}>;

/** One tag that all of them get, or lose. */
function TagMany({ rows, update, onClose }: TagManyProps) {
  const tags = [...new Set(rows.flatMap(tagsOf))].toSorted((one, other) => one.localeCompare(other));
  const add = (tag: string) => {
    onClose();
    update('tagged', (row) => (tagsOf(row).includes(tag) ? undefined : { tags: [...tagsOf(row), tag] }));
  };
  const remove = (tag: string) => {
    onClose();
    update('changed', (row) =>
      tagsOf(row).includes(tag) ? { tags: tagsOf(row).filter((other) => other !== tag) } : undefined,
    );
  };
  return (
    <Dialog title="Tags of the selected" onClose={onClose}>
      <AddTyped
        label="Tag to add"
        placeholder="Tag to add"
        read={(typed) => typed.trim() || undefined}
        onAdd={add}
        options={tags.map((value) => ({ value, label: value }))}
      >
        {(press, isNothing) => <Button text="Add to all" look="primary" disabled={isNothing} onClick={press} />}
      </AddTyped>
      {tags.length > 0 && <h3>Take away</h3>}
      <div class="actions">
        {tags.map((tag) => (
          <Button
            key={tag}
            icon="close"
            text={`${tag} (${rows.filter((row) => tagsOf(row).includes(tag)).length})`}
            onClick={() => remove(tag)}
          />
        ))}
      </div>
    </Dialog>
  );
}

function tagsOf({ tags }: Row): string[] {
  return Array.isArray(tags) ? tags.map(String) : [];
}
