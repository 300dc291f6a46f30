import { useState } from 'preact/hooks';
import type { BotConfig } from '../../../resources/bot-config.ts';
import type { Model } from '../../../resources/model.ts';
import { act, counted, type ListAnswer, labelOf, text, useAnswer, useMay, useTool } from '../app.ts';
import { Field, TextField } from '../components/form/field.tsx';
import { Form } from '../components/form/form.tsx';
import { MoveButtons } from '../components/form/move-buttons.tsx';
import { Picker } from '../components/form/picker.tsx';
import { VersionHistory } from '../components/versions.tsx';
import type { Row } from '../kind/spec.ts';
import {
  Badge,
  Button,
  type Column,
  ErrorBox,
  Fields,
  LinkButton,
  PageBody,
  Skeleton,
  Table,
  Tabs,
  toast,
  useAction,
} from '../ui.ts';
import { RatesControl } from './settings/rates-control.tsx';

export function Page() {
  const mayPrompt = useMay('get_bot_config');
  const mayModels = useMay('list_models');
  return (
    <PageBody title="Settings" width="narrow">
      <Tabs
        label="Settings"
        tabs={[
          { id: 'workspace', label: 'Workspace', content: () => <SettingsForm /> },
          ...(mayPrompt
            ? [
                { id: 'prompt', label: 'Prompt', content: () => <PromptForm /> },
                {
                  id: 'history',
                  label: 'Prompt history',
                  content: () => <VersionHistory entityType="agent-config" entityId="bot-config" />,
                },
              ]
            : []),
          ...(mayModels ? [{ id: 'models', label: 'Models', content: () => <ModelsList /> }] : []),
        ]}
      />
    </PageBody>
  );
}

const CONTROLS = { exchangeRates: RatesControl };

function SettingsForm() {
  const { data, error } = useAnswer<Row>('get_settings');
  const schema = useTool('get_settings')?.outputSchema;
  const may = useMay('update_settings');
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={8} />;
  if (!may) return <Fields record={data} schema={schema} />;
  const save = async (input: Row) => {
    await act('update_settings', { ...input, expectedRevision: data.revision });
    toast('The settings are saved.');
  };
  return <Form key={String(data.revision)} tool="update_settings" record={data} own={CONTROLS} run={save} />;
}

function ModelsList() {
  const { data, error } = useAnswer<ListAnswer<Model>>('list_models');
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={4} />;
  return (
    <div class="overview">
      <LinkButton needs="list_model_providers" text="Providers of models" icon="model" to="/models" />
      <Table label="Models" columns={COLUMNS} rows={data.data} keyOf={({ id }) => id} />
    </div>
  );
}

const COLUMNS: readonly Column<Model>[] = [
  {
    title: 'Model',
    cell: ({ id, description }) => (
      <>
        <span class="name-title">{id}</span>
        <p class="hint">{description.replaceAll('`', '')}</p>
      </>
    ),
  },
  {
    title: 'Can',
    cell: ({ capabilities }) =>
      Object.entries(capabilities)
        .flatMap(([name, has]) => (has ? labelOf(name) : []))
        .join(', '),
    hidePriority: 1,
  },
  {
    title: 'Available',
    cell: ({ available }) => <Badge tone={available ? 'good' : 'plain'}>{available ? 'Yes' : 'No'}</Badge>,
    alignEnd: true,
  },
];

function PromptForm() {
  const { data, error } = useAnswer<BotConfig>('get_bot_config');
  if (error) return <ErrorBox error={error} />;
  return data ? <Sections key={data.revision} config={data} /> : <Skeleton lines={8} />;
}

type Section = readonly [name: string, text: string];

function Sections({ config }: { readonly config: BotConfig }) {
  const [sections, setSections] = useState<readonly Section[]>(Object.entries(config.promptSections));
  const [model, setModel] = useState(config.defaultModel);
  const [maxTokens, setMaxTokens] = useState(config.maxTokens);
  const { busy, error, run } = useAction();
  const composed = sections.map(([, words]) => words).join('\n\n');
  const save = async () => {
    const names = sections.map(([name]) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`Two sections are called "${twice}"; give one another name.`);
    const promptSections = Object.fromEntries(sections);
    const changed = JSON.stringify(promptSections) !== JSON.stringify(config.promptSections);
    await act('update_bot_config', {
      ...(changed && { promptSections }),
      ...(model !== config.defaultModel && { defaultModel: model }),
      ...(maxTokens !== config.maxTokens && { maxTokens }),
      expectedRevision: config.revision,
    });
    toast('Every agent begins with it from now on.');
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(save);
  };
  return (
    <form class="form" onSubmit={submit}>
      <SectionList sections={sections} onChange={setSections} />
      <details>
        <summary>{`Composed: ${counted(composed.length, 'character')}`}</summary>
        <pre class="block-text">{composed}</pre>
      </details>
      <Field label="Default model">
        {(tied) => <Picker kind="model" value={model} onChange={(id) => id && setModel(id)} tied={tied} />}
      </Field>
      <TextField
        label="Most tokens of one answer"
        input={{ type: 'number' }}
        value={maxTokens}
        onType={(typed) => setMaxTokens(Number(typed))}
      />
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions form-actions">
        <Button text={text.save} type="submit" look="primary" busy={busy} />
      </div>
    </form>
  );
}

type SectionListProps = Readonly<{ sections: readonly Section[]; onChange: (sections: readonly Section[]) => void }>;

function SectionList({ sections, onChange }: SectionListProps) {
  const add = () => onChange([...sections, [`section ${sections.length + 1}`, '']]);
  const put = (at: number, section: Section) => onChange(sections.map((one, index) => (index === at ? section : one)));
  return (
    <>
      {sections.map(([name, words], index) => (
        <fieldset key={index} class="step-card">
          <legend class="visually-hidden">Section {index + 1}</legend>
          <header class="step-head">
            <input
              class="input"
              aria-label={`Name of section ${index + 1}`}
              value={name}
              onInput={({ currentTarget }) => put(index, [currentTarget.value, words])}
            />
            <MoveButtons items={sections} index={index} name={name} onChange={onChange} />
          </header>
          <textarea
            class="input"
            aria-label={`Text of ${name}`}
            rows={Math.min(14, words.split('\n').length + 2)}
            value={words}
            onInput={({ currentTarget }) => put(index, [name, currentTarget.value])}
          />
        </fieldset>
      ))}
      <div>
        <Button text="Add section" icon="plus" onClick={add} />
      </div>
    </>
  );
}
