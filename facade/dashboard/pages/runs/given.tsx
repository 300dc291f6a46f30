import type { GivenPassage, RecordRevision } from '../../../../resources/agent-run.ts';
import { counted } from '../../app.ts';
import { Facts, Link, Ref } from '../../ui.ts';
import type { ShownRun } from './spans.ts';

/** The records in its prompt, each in the revision it had then. */
export function RunInput({
  run: { agentRevision, prompt, skills, memories, passages, summary, hidden },
}: {
  readonly run: ShownRun;
}) {
  const sections = prompt && (
    <>
      <Link to="/settings?tab=prompt">prompt sections</Link> <span class="faint">revision {prompt.revision}</span>
    </>
  );
  return (
    <Facts
      of={{
        Agent: agentRevision !== undefined && `revision ${agentRevision}`,
        Prompt: sections,
        Skills: <Records records={skills} />,
        Memories: <Records records={memories} />,
        Passages: passages && <Passages passages={passages} />,
        Earlier: summary && summaryWords(summary),
        'Not shown': hidden > 0 && `${counted(hidden, 'record')} deleted since, or not yours to read`,
      }}
    />
  );
}

function summaryWords({ messages, leftOut }: NonNullable<ShownRun['summary']>): string {
  const all = counted(messages, 'message');
  if (leftOut === messages) return `${all} left out`;
  return `a summary of ${all}${leftOut > 0 ? `, ${leftOut} of them left out` : ''}`;
}

export function Records({ records = [] }: { readonly records: readonly RecordRevision[] | undefined }) {
  if (records.length === 0) return <span class="faint">None</span>;
  return (
    <>
      {records.map(({ id, revision }) => (
        <div key={id}>
          <Ref id={id} /> <span class="faint">revision {revision}</span>
        </div>
      ))}
    </>
  );
}

function Passages({ passages }: { readonly passages: readonly GivenPassage[] }) {
  return (
    <>
      {passages.map(({ number, id, revision, path }) => (
        <div key={number}>
          [{number}] <Ref id={id} /> {path} <span class="faint">revision {revision}</span>
        </div>
      ))}
    </>
  );
}
