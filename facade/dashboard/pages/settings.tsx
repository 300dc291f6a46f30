import { useMay } from '../app.ts';
import { VersionHistory } from '../components/versions.tsx';
import { Tabs } from '../ui.ts';
import { ModelsList } from './settings/models.tsx';
import { PromptForm } from './settings/prompt-form.tsx';
import { SettingsForm } from './settings/settings-form.tsx';

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
