import { useState } from 'preact/hooks';
import type { BotConfig } from '../../../../resources/bot-config.ts';
import type { Model } from '../../../../resources/model.ts';
import { act, type ListAnswer, useAnswer, useMay } from '../../app.ts';
import { Select } from '../../components/form/select.tsx';
import { ActionButton } from '../../ui.ts';

/** Offers a model of a provider that works as the default one, as long as that is the built-in one. */
export function UseModel({ provider }: { readonly provider: string }) {
  const may = useMay('update_bot_config');
  const { data: config } = useAnswer<BotConfig>(may ? 'get_bot_config' : undefined);
  const isOffered = config?.defaultModel.startsWith('offline/') ?? false;
  const { data: models } = useAnswer<ListAnswer<Model>>(isOffered ? 'list_models' : undefined);
  const [picked, setPicked] = useState<string>();
  const own = models?.data.filter((model) => model.provider === provider) ?? [];
  const model = picked ?? own[0]?.id;
  if (!config || !isOffered || model === undefined) return null;
  const use = async () => {
    await act('update_bot_config', { defaultModel: model, expectedRevision: config.revision });
    return `Agents and chats use ${model} now, where nothing else is chosen for them.`;
  };
  return (
    <div class="note stack">
      <p>Agents and chats still use the built-in offline model, which only quotes stored text.</p>
      <div class="actions">
        {own.length > 1 && (
          <Select
            class="filter-choice"
            aria-label="Model"
            value={model}
            options={own.map(({ id }) => ({ value: id, label: id }))}
            onPick={setPicked}
          />
        )}
        <ActionButton look="primary" text={`Use ${model} for agents and chat`} run={use} />
      </div>
    </div>
  );
}
