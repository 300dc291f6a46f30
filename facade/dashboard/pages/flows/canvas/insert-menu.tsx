import { type ListedTool, useTools } from '../../../app.ts';
import { EffectBadge, ToolCatalog } from '../../../components/tool-catalog.tsx';
import { Button, Icon } from '../../../ui.ts';
import { toolIcon } from './words.ts';

/** What people mostly want of a step, in their words. */
const USUAL: readonly (readonly [string, string])[] = [
  ['invoke_agent', 'Ask an agent'],
  ['send_message', 'Send a message'],
  ['send_mail', 'Send a mail'],
  ['send_http_request', 'Call another system'],
  ['search_documents', 'Search in documents'],
  ['create_task', 'Make a task'],
  ['create_document', 'Write a document'],
  ['get_report', 'Read a report'],
  ['trigger_flow', 'Run another flow'],
];

interface InsertMenuProps {
  readonly onPick: (tool: string) => void;
  /** Where nothing else is in the flow: an agent does all of the work. */
  readonly onAgent?: (() => void) | undefined;
  readonly onClose: () => void;
}

/** What can be inserted: usual steps in plain words, and every tool by a search. */
export function InsertMenu({ onPick, onAgent, onClose }: InsertMenuProps) {
  const tools = useTools();
  const usual = USUAL.filter(([name]) => tools?.has(name));
  return (
    <>
      <header class="section-head">
        <h2>Add a step</h2>
        <Button look="quiet" icon="close" label="Close" onClick={onClose} />
      </header>
      <div class="usual-steps">
        {onAgent && tools?.has('invoke_agent') && (
          <button type="button" class="usual-step" onClick={onAgent}>
            <Icon name="agent" /> Let an agent do the work
          </button>
        )}
        {usual.map(([name, words]) => (
          <button key={name} type="button" class="usual-step" onClick={() => onPick(name)}>
            <Icon name={toolIcon(name)} /> {words}
          </button>
        ))}
      </div>
      <ToolCatalog onFirst={onPick} choice={(tool) => <Choice key={tool.name} tool={tool} onPick={onPick} />} />
    </>
  );
}

function Choice({ tool, onPick }: { readonly tool: ListedTool; readonly onPick: (name: string) => void }) {
  const [says = ''] = (tool.description ?? '').replaceAll('`', '').split(/(?<=\.)\s/, 1);
  return (
    <button type="button" class="tool-choice pick" onClick={() => onPick(tool.name)}>
      <span class="tool-choice-name">{tool.title ?? tool.name}</span>
      <span class="faint tool-choice-says">{says}</span>
      <EffectBadge {...tool} />
    </button>
  );
}
