import { useState } from 'preact/hooks';
import { act, counted, text, useAnswer } from '../../app.ts';
import { Field } from '../../components/form/field.tsx';
import { MoveButtons } from '../../components/form/move-buttons.tsx';
import { Picker } from '../../components/form/picker.tsx';
import { Button, ErrorBox, Skeleton, toast, useAction } from '../../ui.ts';

interface BotConfig {
  readonly promptSections: Readonly<Record<string, string>>;
  readonly defaultModel: string;
  readonly maxTokens: number;
  readonly revision: number;
}

/** What the prompt of every agent begins with: sections in order, composed beside them. */
export function PromptForm() {
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
      <Field label="Most tokens of one answer">
        {(tied) => (
          <input
            class="input"
            type="number"
            {...tied}
            value={maxTokens}
            onInput={({ currentTarget }) => setMaxTokens(Number(currentTarget.value))}
          />
        )}
      </Field>
      {error !== undefined && <ErrorBox error={error} />}
      <div class="actions form-actions">
        <Button text={text.save} type="submit" look="primary" busy={busy} />
      </div>
    </form>
  );
}

type SectionListProps = Readonly<{ sections: readonly Section[]; onChange: (sections: readonly Section[]) => void }>;

function SectionList({ sections, onChange }: SectionListProps) {
  const put = (at: number, section: Section) => onChange(sections.map((one, index) => (index === at ? section : one)));
  return (
    <>
      {sections.map(([name, words], index) => (
        <fieldset key={index} class="step-card">
          <legend class="only-heard">Section {index + 1}</legend>
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
        <Button
          text="Add section"
          icon="plus"
          onClick={() => onChange([...sections, [`section ${sections.length + 1}`, '']])}
        />
      </div>
    </>
  );
}
