import { act, useMay } from '../app.ts';
import { ToolsPicker } from '../components/tools-picker.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import { type Row, titleOf } from '../kind/spec.ts';
import { LinkButton, withToast } from '../ui.ts';
import { AllowedTools } from './agents/allowed-tools.tsx';
import { Identity } from './agents/identity.tsx';
import { budgetsTab } from './budgets/budgets-of.tsx';
import { AgentRuns } from './runs/run-list.tsx';

export const Page = kindPage('agent', {
  subtitle: 'description',
  avatar: true,
  versions: 'agent',
  empty: 'An agent answers people and does work with the tools that you allow it.',
  blocks: ['instructions'],
  prose: ['instructions'],
  without: ['identity', 'tools'],
  controls: { tools: ToolsPicker },
  actions: TalkButton,
  menu: (row) => [
    row.status === 'paused'
      ? { label: 'Resume', icon: 'play', needs: 'update_agent', run: () => void setStatus(row, 'active') }
      : { label: 'Pause', icon: 'clock', needs: 'update_agent', run: () => void setStatus(row, 'paused') },
  ],
  tabs: (row) => [
    { id: 'identity', label: 'Identity', content: () => <Identity row={row} /> },
    { id: 'tools', label: 'Tools', content: () => <AllowedTools row={row} /> },
    { id: 'runs', label: 'Runs', content: () => <AgentRuns agentId={String(row.id)} /> },
    budgetsTab('agent', row),
  ],
  loss: () => 'It takes no more work and its name is free again. Its versions stay, so it can be restored.',
});

async function setStatus(row: Row, status: 'active' | 'paused'): Promise<void> {
  const name = titleOf({ title: 'displayName' }, row);
  await withToast(async () => {
    await act('update_agent', { id: row.id, status, expectedRevision: row.revision });
    return status === 'paused' ? `${name} takes no new work.` : `${name} works again.`;
  });
}

function TalkButton({ row }: { readonly row: Row }) {
  const may = useMay('send_chat_message');
  if (!may || row.status !== 'active') return null;
  return <LinkButton text="Chat" icon="chat" to={`/chat/new?agent=${encodeURIComponent(String(row.id))}`} />;
}
