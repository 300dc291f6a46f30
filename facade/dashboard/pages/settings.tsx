import type { Model } from '../../../resources/model.ts';
import { type ListAnswer, labelOf, useAnswer, useMay, useTool } from '../app.ts';
import { Form } from '../components/form/form.tsx';
import { VersionHistory } from '../components/versions.tsx';
import type { Row } from '../kind/spec.ts';
import { Badge, type Column, ErrorBox, Fields, LinkButton, PageBody, Skeleton, Table, Tabs } from '../ui.ts';
import { PromptForm } from './settings/prompt-form.tsx';
import { RatesControl } from './settings/rates-control.tsx';
import { SECTIONS, type SettingsSection } from './settings/sections.ts';
import { useSharedForm } from './settings/use-shared-form.tsx';

export function Page() {
  const mayPrompt = useMay('get_bot_config');
  const mayModels = useMay('list_models');
  return (
    <PageBody title="Settings" width="narrow">
      <Tabs
        label="Settings"
        tabs={[
          ...SECTIONS.map((section) => ({ ...section, content: () => <SettingsForm key={section.id} {...section} /> })),
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

/** What counts where the settings say nothing. */
const DEFAULTS = { mailAskFirst: true };
const CONTROLS = { exchangeRates: RatesControl };

function SettingsForm({ id, words }: SettingsSection) {
  const { data, error } = useAnswer<Row>('get_settings');
  const schema = useTool('get_settings')?.outputSchema;
  const may = useMay('update_settings');
  if (error) return <ErrorBox error={error} />;
  if (!data) return <Skeleton lines={8} />;
  const isAsked = (name: string) => name in words;
  if (!may)
    return (
      <Fields record={Object.fromEntries(Object.entries(data).filter(([name]) => isAsked(name)))} schema={schema} />
    );
  return <SectionForm {...{ id, words }} record={data} />;
}

type SectionFormProps = Pick<SettingsSection, 'id' | 'words'> & Readonly<{ record: Row }>;

function SectionForm({ id, words, record }: SectionFormProps) {
  const { key, shown, draft, save, see, dialog, notice } = useSharedForm({
    form: `settings ${id}`,
    tools: { get: 'get_settings', update: 'update_settings' },
    record,
    defaults: DEFAULTS,
    members: Object.keys(words),
    saved: 'The settings are saved.',
  });
  const hidden = SECTIONS.flatMap((section) => (section.words === words ? [] : Object.keys(section.words)));
  return (
    <>
      {notice}
      <Form
        key={key}
        tool="update_settings"
        record={{ ...record, ...shown }}
        hidden={hidden}
        words={words}
        own={CONTROLS}
        draft={draft}
        run={save}
        onError={(error, input) => void see(error, input)}
      />
      {dialog}
    </>
  );
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
