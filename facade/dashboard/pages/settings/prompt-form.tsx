import { useRef, useState } from 'preact/hooks';
import type { BotConfig } from '../../../../resources/bot-config.ts';
import { counted, text, useAnswer } from '../../app.ts';
import { DraftNote, useDraft } from '../../components/form/draft.tsx';
import { Field, TextField } from '../../components/form/field.tsx';
import { MoveButtons } from '../../components/form/move-buttons.tsx';
import { Picker } from '../../components/form/picker.tsx';
import { Button, ErrorBox, Skeleton, useAction } from '../../ui.ts';
import { type SharedForm, useSharedForm } from './use-shared-form.tsx';

const MEMBERS = ['promptSections', 'defaultModel', 'maxTokens'] as const;
type Config = Pick<BotConfig, (typeof MEMBERS)[number]>;

export function PromptForm() {
  const { data, error } = useAnswer<BotConfig>('get_bot_config');
  if (error) return <ErrorBox error={error} />;
  return data ? <SharedPrompt config={data} /> : <Skeleton lines={8} />;
}

function SharedPrompt({ config }: { readonly config: BotConfig }) {
  const { key, shown, dialog, notice, ...form } = useSharedForm({
    form: 'settings prompt',
    tools: { get: 'get_bot_config', update: 'update_bot_config' },
    record: config,
    members: MEMBERS,
    saved: 'Every agent begins with it from now on.',
  });
  return (
    <>
      {notice}
      <Sections key={key} config={shown as Config} {...form} />
      {dialog}
    </>
  );
}

type Section = readonly [name: string, text: string];
type Prompt = Readonly<{ sections: readonly Section[]; model: string; longest: number }>;
type SectionsProps = Readonly<{ config: Config }> & Pick<SharedForm, 'draft' | 'save' | 'see'>;

function Sections({ config, draft: place, save, see }: SectionsProps) {
  const { current: before } = useRef<Prompt>({
    sections: Object.entries(config.promptSections),
    model: config.defaultModel,
    longest: config.maxTokens,
  });
  const [prompt, setPrompt] = useState(before);
  const { sections, model, longest } = prompt;
  const change = (members: Partial<Prompt>) => setPrompt({ ...prompt, ...members });
  const draft = useDraft(place, {}, before, prompt, (taken) => setPrompt(taken as Prompt)); // as it was kept here
  const { busy, error, run } = useAction();
  const composed = sections.map(([, words]) => words).join('\n\n');
  const submit = (event: Event) => {
    event.preventDefault();
    const mine = changesOf(config, prompt);
    void run(
      async () => {
        requireNames(sections);
        await save(mine);
      },
      (problem) => void see(problem, mine),
    );
  };
  return (
    <form class="form" onSubmit={submit}>
      {draft.offered && <DraftNote {...draft} offered={draft.offered} at={place} />}
      <SectionList sections={sections} onChange={(changed) => change({ sections: changed })} />
      <details>
        <summary>{`Composed: ${counted(composed.length, 'character')}`}</summary>
        <pre class="block-text">{composed}</pre>
      </details>
      <Field label="Default model">
        {(tied) => <Picker kind="model" value={model} onChange={(id) => id && change({ model: id })} tied={tied} />}
      </Field>
      <TextField
        label="Most tokens of one answer"
        input={{ type: 'number' }}
        value={longest}
        onType={(typed) => change({ longest: Number(typed) })}
      />
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions form-actions">
        <Button text={text.save} type="submit" look="primary" busy={busy} />
      </div>
    </form>
  );
}

function changesOf(config: Config, { sections, model, longest }: Prompt): Partial<Config> {
  const promptSections = Object.fromEntries(sections);
  const changed = JSON.stringify(promptSections) !== JSON.stringify(config.promptSections);
  return {
    ...(changed && { promptSections }),
    ...(model !== config.defaultModel && { defaultModel: model }),
    ...(longest !== config.maxTokens && { maxTokens: longest }),
  };
}

/** @throws where two sections have one name */
function requireNames(sections: readonly Section[]): void {
  const names = sections.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`Two sections are called "${twice}"; give one another name.`);
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
