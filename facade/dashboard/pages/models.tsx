import type { ModelProviderKind, ModelProviderTest, ModelProviderView } from '../../../resources/model-provider.ts';
import { act } from '../app.ts';
import { Field } from '../components/form/field.tsx';
import { Part } from '../components/form/part.tsx';
import { Select } from '../components/form/select.tsx';
import type { Members, PartProps } from '../components/form/state.ts';
import { kindPage, type Row } from '../kind/kind-page.tsx';
import { ActionButton, Badge, Facts, Link, type Tone, withToast } from '../ui.ts';
import { UseModel } from './models/use-model.tsx';

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
    action: 'Add',
    intro: 'Its models can be chosen for agents at once, as provider/model.',
  },
  fields: {
    kind: {},
    name: { hint: 'A short one of your own, like openai: agents name its models openai/gpt-5.' },
    apiKey: {},
    baseUrl: {},
    enabled: {},
    models: { label: 'Models it does not list', hint: 'And the context window of those it lists.' },
    'models.name': { hint: 'As the provider names it.' },
    'models.contextTokens': { label: 'Context window', hint: 'In tokens.' },
    'models.maxOutputTokens': { label: 'Max. output', hint: 'In tokens.' },
    'models.inputs': { label: 'Takes' },
    prices: { label: 'Prices', hint: 'Per million tokens. Prices in the settings take precedence.' },
    'prices.from': { hint: 'The day from which they hold.' },
    'prices.currency': { hint: 'Like USD.' },
    'prices.input': { label: 'Input' },
    'prices.output': { label: 'Output' },
    'prices.cacheRead': { label: 'Cached input' },
    'prices.cacheWrite': { label: 'Cache write' },
    'prices.reasoning': { label: 'Reasoning', hint: 'Default: as output.' },
    headers: { label: 'Extra headers', hint: 'Stored as secrets, like the key.' },
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
  badge: stateOf,
  onCreated: ({ id, name, enabled }) => {
    if (enabled) void withToast(() => test(String(id), String(name)));
  },
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

/** Tests the provider. Returns a sentence for a toast. @throws Error that says what to change in the form */
async function test(id: string, name: string): Promise<string> {
  const found = await act<ModelProviderTest>('test_model_provider', { id });
  const { ok, latencyMs, model = name, problem = '', nextStep = '' } = found;
  if (ok) return `${model} answered in ${Math.round(latencyMs)} ms.`;
  throw new Error(`${problem} ${nextStep.replaceAll('baseUrl', 'the address')}`.trim());
}

function ProviderActions({ row }: { readonly row: Row }) {
  const { id, name, enabled, revision, source } = providerOf(row);
  const turn = async () => {
    await act('update_model_provider', { id, enabled: !enabled, expectedRevision: revision });
    return enabled ? `${name} is off: its models are not used.` : `${name} is on.`;
  };
  return (
    <>
      <ActionButton needs="test_model_provider" text="Test" icon="play" run={() => test(id, name)} />
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
  const { name, kind, baseUrl, apiKey, source, status, problem } = providerOf(row);
  return (
    <>
      {problem !== undefined && <p class="note warn">{problem}</p>}
      {status === 'ok' && <UseModel provider={name} />}
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
