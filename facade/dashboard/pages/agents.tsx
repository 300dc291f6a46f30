import { act, at, type ListedTool, number, useAnswer, useMay, useTool, useTools } from '../app.ts';
import { AskFirst } from '../components/folded-tools.tsx';
import { FormButton } from '../components/form/form-button.tsx';
import { NarrowAccessButton, takingBy } from '../components/narrow-access.tsx';
import { EffectBadge } from '../components/tool-catalog.tsx';
import { patternTest, ToolsPicker } from '../components/tools-picker.tsx';
import { viewAsTab } from '../components/view-as.tsx';
import { changeItem, kindPage, pathOf, type Row } from '../kind/kind-page.tsx';
import { type Column, Empty, Fields, LinkButton, Mono, Table, toast } from '../ui.ts';
import { budgetsTab } from './budgets/budget.tsx';
import { AgentRuns } from './runs/run-list.tsx';

export const Page = kindPage('agent', {
  subtitle: 'description',
  avatar: true,
  versions: 'agent',
  empty: 'An agent answers people and does work with the tools that you allow it.',
  blocks: ['instructions'],
  prose: ['instructions'],
  without: ['identity', 'tools'],
  fields: {
    displayName: { hint: 'As people see it, like Support bot.' },
    name: { hint: 'Used in grants and API calls, like support-bot.' },
    description: { hint: 'What it is for, in a sentence.' },
    instructions: { hint: 'What it is told before each conversation: its task, its tone, what it must not do.' },
    modelPreference: { label: 'Model' },
    skillIds: {},
    tools: {},
    askFirst: {},
    knowledge: {},
    fallbackModels: {},
    temperature: { hint: 'From 0, always much the same, to 2.' },
    maxOutputTokens: { label: 'Max. output (tokens)', hint: 'For each turn of the model.' },
    reasoningEffort: {},
    timeoutSeconds: {
      label: 'Response timeout (seconds)',
      hint: 'Without a word of the model.',
    },
    maxSteps: { label: 'Max. turns', hint: 'How often the model is called in one run, like 10.' },
  },
  useInherited: useModelDefaults,
  advanced: [
    ...['fallbackModels', 'temperature', 'maxOutputTokens', 'reasoningEffort', 'timeoutSeconds'],
    ...['maxSteps', 'memoryPolicy', 'identity'],
  ],
  controls: { tools: ToolsPicker, askFirst: AskFirst },
  actions: TalkButton,
  menu: (row) => [
    row.status === 'paused'
      ? changeItem('agent', row, ['Resume', 'play'], { status: 'active' }, `${row.displayName} works again.`)
      : changeItem('agent', row, ['Pause', 'clock'], { status: 'paused' }, `${row.displayName} takes no new work.`),
  ],
  tabs: (row) => [
    { id: 'identity', label: 'Identity', content: () => <Identity row={row} /> },
    { id: 'tools', label: 'Tools', content: () => <AllowedTools row={row} /> },
    { id: 'runs', label: 'Runs', content: () => <AgentRuns agentId={String(row.id)} /> },
    viewAsTab('agentId', row.id),
    budgetsTab('agent', row),
  ],
  loss: () => 'It takes no more work and its name is free again. Its versions stay, so it can be restored.',
});

/** What the workspace gives to agents that say nothing else. */
function useModelDefaults(): Readonly<Record<string, string>> {
  const may = useMay('get_bot_config');
  const { data } = useAnswer<Row>(may ? 'get_bot_config' : undefined);
  return {
    ...(data?.defaultModel !== undefined && { modelPreference: `Inherits: ${String(data.defaultModel)}` }),
    ...(data?.maxTokens !== undefined && { maxOutputTokens: `Inherits: ${number(Number(data.maxTokens))}` }),
    temperature: 'Inherits: that of the provider',
  };
}

function TalkButton({ row }: { readonly row: Row }) {
  if (row.status !== 'active') return null;
  const to = `/chat/new?agent=${encodeURIComponent(String(row.id))}`;
  return <LinkButton needs="send_chat_message" text="Chat" icon="chat" to={to} />;
}

function EditButton({ row, text }: { readonly row: Row; readonly text: string }) {
  return <LinkButton needs="update_agent" text={text} to={`${pathOf({ path: '/agents' }, row)}/edit`} />;
}

function Identity({ row }: { readonly row: Row }) {
  const schema = useTool('get_agent')?.outputSchema?.properties?.identity;
  const identity = (row.identity ?? {}) as Row; // as the schema of an agent says
  const provision = async (input: object) => {
    await act('provision_agent_identity', input);
    toast('The identity is recorded.');
  };
  const actions = (
    <div class="actions">
      <EditButton row={row} text="Edit identity" />
      <FormButton
        text="Record phone or card"
        title="Record phone or card"
        tool="provision_agent_identity"
        given={{ id: row.id, expectedRevision: row.revision }}
        run={provision}
      />
    </div>
  );
  return (
    <div class="overview">
      {Object.keys(identity).length > 0 ? (
        <>
          <Fields record={identity} schema={schema} />
          {actions}
        </>
      ) : (
        <Empty title="No identity yet" action={actions}>
          An address, a signature, a phone number: what people outside see of the agent.
        </Empty>
      )}
    </div>
  );
}

/** A tool, and the entry of the allowlist that lets it in. */
type Allowed = Readonly<{ tool: ListedTool; by: string }>;

function AllowedTools({ row }: { readonly row: Row }) {
  const tools = useTools();
  const entries: readonly string[] = Array.isArray(row.tools) ? row.tools : [];
  const tests = entries.map((entry) => ({ entry, test: patternTest(entry) }));
  const allowed = [...(tools?.values() ?? [])].flatMap((tool): Allowed[] => {
    const found = tests.find(({ test }) => test(tool.name));
    return found ? [{ tool, by: found.entry }] : [];
  });
  if (allowed.length === 0) {
    return (
      <Empty title="It may use no tools" action={<EditButton row={row} text="Pick tools" />}>
        It can only talk. Pick the tools it needs for its work.
      </Empty>
    );
  }
  const id = String(row.id);
  return (
    <div class="overview">
      <div class="actions">
        <NarrowAccessButton of={{ agentId: id }} tools="tools" taking={takingBy('update_agent', id)} />
      </div>
      <Table label="Tools it may use" columns={COLUMNS} rows={allowed} keyOf={({ tool }) => tool.name} />
    </div>
  );
}

const COLUMNS: readonly Column<Allowed>[] = [
  { title: 'Tool', cell: ({ tool }) => <a href={at(`/tools/${tool.name}`)}>{tool.title ?? tool.name}</a> },
  { title: 'Effect', cell: ({ tool }) => <EffectBadge {...tool} reads="plain" /> },
  { title: 'Allowed by', alignEnd: true, hidePriority: 1, cell: ({ by }) => <Mono>{by}</Mono> },
];
