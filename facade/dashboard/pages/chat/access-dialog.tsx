import { useState } from 'preact/hooks';
import type { z } from 'zod';
import type { threadAccess } from '../../../../resources/thread.ts';
import { act, text, useAnswer, useMay, wordOf } from '../../app.ts';
import { Field } from '../../components/form/field.tsx';
import { Picker } from '../../components/form/picker.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { Button, Dialog, ErrorBox, Ref, Skeleton, useAction } from '../../ui.ts';

type Access = z.infer<typeof threadAccess>;
type Entry = Readonly<{ principal: Readonly<{ type: string; id: string }>; role: string }>;

const ROLES = optionsOf(['viewer', 'editor', 'owner']);
const VISIBILITIES = [
  { value: 'workspace', label: 'Everybody who may read threads' },
  { value: 'restricted', label: 'Only those below, and administrators' },
];
const TYPES: Readonly<Record<string, string>> = {
  user: 'admin-user',
  agent: 'agent',
  capsule: 'capsule',
  'api-key': 'key',
};
const KINDS = optionsOf(Object.keys(TYPES));

export function AccessDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data } = useAnswer<Access>('get_thread_access', { id });
  const mayShare = useMay('add_thread_access');
  const { error, run } = useAction();
  const change = (tool: string, input: object) => {
    void run(() => act(tool, { id, ...input, ...(data && { expectedRevision: data.revision }) }));
  };
  return (
    <Dialog title="Who has access" onClose={onClose} size="m">
      {!data && <Skeleton lines={3} />}
      {data && (
        <>
          <Field label="Visible to">
            {(tied) => (
              <Select
                {...tied}
                disabled={!mayShare}
                value={data.visibility}
                options={VISIBILITIES}
                onPick={(visibility) => change('update_thread_access', { visibility })}
              />
            )}
          </Field>
          <ul class="entries">
            {data.entries.map((entry) => (
              <EntryRow key={`${entry.principal.type} ${entry.principal.id}`} {...{ entry, mayShare, change }} />
            ))}
          </ul>
          {mayShare && <AddEntry onAdd={(entry) => change('add_thread_access', { entries: [entry] })} />}
        </>
      )}
      {error !== undefined && <ErrorBox error={error} />}
    </Dialog>
  );
}

type EntryRowProps = Readonly<{ entry: Entry; mayShare: boolean; change: (tool: string, input: object) => void }>;

function EntryRow({ entry: { principal, role }, mayShare, change }: EntryRowProps) {
  return (
    <li class="entry">
      <span class="entry-name">
        <Ref id={principal.id} /> <span class="faint">{wordOf(principal.type)}</span>
      </span>
      <Select
        class="filter-choice"
        aria-label="Role"
        disabled={!mayShare}
        value={role}
        options={ROLES}
        onPick={(picked) => change('add_thread_access', { entries: [{ principal, role: picked }] })}
      />
      {mayShare && (
        <Button
          look="quiet"
          icon="close"
          label={text.remove}
          onClick={() => change('remove_thread_access', { principals: [principal] })}
        />
      )}
    </li>
  );
}

function AddEntry({ onAdd }: { readonly onAdd: (entry: Entry) => void }) {
  const [type, setType] = useState('user');
  const [who, setWho] = useState('');
  const [role, setRole] = useState('viewer');
  const tied = { id: 'entry-who', 'aria-describedby': undefined, 'aria-invalid': undefined, required: undefined };
  return (
    <div class="entry-add">
      <Select class="filter-choice" aria-label="Kind" value={type} options={KINDS} onPick={setType} />
      <label class="visually-hidden" for="entry-who">
        Who
      </label>
      <Picker kind={TYPES[type] ?? ''} value={who} onChange={(id) => setWho(id ?? '')} tied={tied} />
      <Select class="filter-choice" aria-label="Role" value={role} options={ROLES} onPick={setRole} />
      <Button
        text={text.add}
        disabled={who === ''}
        onClick={() => {
          onAdd({ principal: { type, id: who }, role });
          setWho('');
        }}
      />
    </div>
  );
}
