import { act, useAnswer, useMay, useTool } from '../app.ts';
import { Form } from '../components/form/form.tsx';
import { VersionHistory } from '../components/versions.tsx';
import type { Row } from '../kind/spec.ts';
import { ErrorBox, Fields, Skeleton, Tabs, toast } from '../ui.ts';
import { ModelsList } from './settings/models.tsx';
import { PromptForm } from './settings/prompt-form.tsx';
import { RatesControl } from './settings/rates-control.tsx';

/** The workspace, and what every agent begins with. */
export function Page() {
  const mayPrompt = useMay('get_bot_config');
  const mayModels = useMay('list_models');
  return (
    <div class="page-body narrow">
      <header class="page-head">
        <h1>Settings</h1>
      </header>
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
    </div>
  );
}

const CONTROLS = { exchangeRates: RatesControl };

/** The settings of the workspace, to change where the person may. */
export function SettingsForm() {
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
