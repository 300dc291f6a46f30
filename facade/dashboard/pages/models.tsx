import type { ModelProviderKind, ModelProviderTest, ModelProviderView } from '../../../resources/model-provider.ts';
import { act } from '../app.ts';
import { Field } from '../components/form/field.tsx';
import { Part } from '../components/form/part.tsx';
import { Select } from '../components/form/select.tsx';
import type { Members, PartProps } from '../components/form/state.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, Facts, Link, type Tone } from '../ui.ts';

const KINDS: Readonly<Record<ModelProviderKind, string>> = {
  openai: 'OpenAI',
  anthropic: 'Anthropic',
  google: 'Google',
  azure: 'Azure OpenAI',
  bedrock: 'Amazon Bedrock',
  'openai-compatible': 'OpenAI-compatible',
};

export const Page = kindPage('model-provider', {
  empty: 'A provider brings models: OpenAI, Anthropic, Google, or a server of your own such as Ollama.',
  makes: {
    title: 'Add a provider',
    action: 'Add',
    intro: 'Its models can be chosen for agents at once, as provider/model.',
  },
  columns: [
    { title: 'Kind', cell: (row: Row) => KINDS[providerOf(row).kind] ?? String(row.kind), width: '11rem' },
    { title: 'State', cell: (row: Row) => <Badge {...stateOf(row)} />, width: '8rem' },
  ],
  without: ['status', 'problem', 'latencyMs', 'source', 'createdBy', 'enabled', 'kind', 'baseUrl', 'apiKey'],
  advanced: ['headers', 'models', 'prices'],
  hiddenIn: hiddenFor,
  controls: { kind: KindControl, baseUrl: Address, apiKey: Key },
  start: { kind: 'openai', enabled: true },
  actions: ProviderActions,
  above: State,
  loss: () => 'Its key is deleted. Agents that use its models have to be changed first.',
});

const providerOf = (row: Row) => row as Row & ModelProviderView; // as its tools answer it

/** Their address is known. It is asked for where another one was given. */
const KNOWN: readonly unknown[] = ['openai', 'anthropic', 'google'];

function hiddenFor({ kind, baseUrl }: Members): readonly string[] {
  return KNOWN.includes(kind) && baseUrl === undefined ? ['baseUrl', 'headers'] : [];
}

const STATES: Readonly<Record<ModelProviderView['status'], readonly [string, Tone]>> = {
  ok: ['Works', 'good'],
  down: ['Fails', 'alarm'],
  unknown: ['Not asked yet', 'plain'],
  disabled: ['Off', 'plain'],
};

function stateOf(row: Row) {
  const [children, tone] = STATES[providerOf(row).status];
  return { children, tone };
}

function ProviderActions({ row }: { readonly row: Row }) {
  const { id, name, enabled, revision, source } = providerOf(row);
  const test = async () => {
    const {
      ok,
      latencyMs,
      model,
      problem = '',
      nextStep = '',
    } = await act<ModelProviderTest>('test_model_provider', {
      id,
    });
    return ok ? `${model ?? name} answered in ${Math.round(latencyMs)} ms.` : `${problem} ${nextStep}`.trim();
  };
  const turn = async () => {
    await act('update_model_provider', { id, enabled: !enabled, expectedRevision: revision });
    return enabled ? `${name} is off: its models are not used.` : `${name} is on.`;
  };
  return (
    <>
      <ActionButton needs="test_model_provider" text="Test" icon="play" run={test} />
      {source === 'record' && (
        <ActionButton
          needs="update_model_provider"
          text={enabled ? 'Switch off' : 'Switch on'}
          icon={enabled ? 'stop' : 'check'}
          run={turn}
        />
      )}
    </>
  );
}

function State({ row }: { readonly row: Row }) {
  const { kind, baseUrl, apiKey, source, problem } = providerOf(row);
  return (
    <>
      {problem !== undefined && <p class="note warn">{problem}</p>}
      {source === 'environment' && <p class="note">It is set by the environment of the server, and changed there.</p>}
      <Facts
        of={{
          Kind: KINDS[kind] ?? kind,
          Address: baseUrl,
          Key: apiKey === undefined ? 'None' : 'Kept secret',
          'Its models': <Link to="/settings?tab=models">See all models</Link>,
        }}
      />
    </>
  );
}

function KindControl({ value, onChange }: PartProps) {
  const options = Object.entries(KINDS).map(([kind, label]) => ({ value: kind, label }));
  return (
    <Field label="Kind" hint="OpenAI-compatible: Ollama, vLLM, OpenRouter and the like." needed>
      {(tied) => <Select {...tied} value={String(value)} options={options} onPick={onChange} />}
    </Field>
  );
}

function Key({ beside = {}, ...props }: PartProps) {
  const description = beside.kind === 'openai-compatible' ? 'Many servers of your own need none.' : 'Kept as a secret.';
  return <Part {...props} schema={{ ...props.schema, title: 'API key', description }} />;
}

const EXAMPLES: Readonly<Record<string, string>> = {
  'openai-compatible': 'Like http://127.0.0.1:11434/v1 of Ollama.',
  azure: 'Like https://<resource>.openai.azure.com/openai.',
  bedrock: 'Like https://bedrock-runtime.<region>.amazonaws.com.',
};

function Address({ beside = {}, ...props }: PartProps) {
  const description = EXAMPLES[String(beside.kind)] ?? 'Default: that of the vendor.';
  const needed = !KNOWN.includes(beside.kind);
  return <Part {...props} schema={{ ...props.schema, title: 'Address', description }} needed={needed} />;
}
