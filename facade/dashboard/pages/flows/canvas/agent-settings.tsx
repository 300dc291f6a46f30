import { Part } from '../../../components/form/part.tsx';
import { issueAt, type Members, type PartProps } from '../../../components/form/state.ts';
import { Button } from '../../../ui.ts';
import { DataField } from './data-field.tsx';
import { KnownData, type Samples, useDataBefore } from './known-data.ts';

type AgentSettingsProps = Pick<PartProps, 'issues'> & {
  readonly beside: Members;
  readonly onBeside: (change: Members) => void;
  readonly onRemove: () => void;
  readonly samples: Samples;
};

/** The agent that does the work of a flow without steps, and what it is told. */
export function AgentSettings({ beside, issues, onBeside, onRemove, samples }: AgentSettingsProps) {
  const known = useDataBefore(beside.trigger, [], samples);
  return (
    <KnownData.Provider value={known}>
      <header class="section-head">
        <h2>An agent does the work</h2>
        <Button look="quiet" icon="trash" label="Remove the agent" onClick={onRemove} />
      </header>
      <Part
        name="agentId"
        path="agentId"
        schema={{ type: 'string', title: 'Agent', 'x-ref': 'agent' }}
        needed
        value={beside.agentId}
        issues={issues}
        onChange={(agentId) => onBeside({ agentId: agentId ?? '' })}
      />
      <DataField
        label="What it is told"
        hint="Empty: the input alone."
        issue={issueAt({ path: 'prompt', issues })}
        rows={6}
        value={typeof beside.prompt === 'string' ? beside.prompt : ''}
        onType={(prompt) => onBeside({ prompt: prompt === '' ? undefined : prompt })}
      />
    </KnownData.Provider>
  );
}
