import { type ListedTool, useTool } from '../app.ts';
import { JsonText } from '../components/form/field.tsx';
import { Frame } from '../components/form/groups.tsx';
import { Part } from '../components/form/part.tsx';
import { issueAt, type Members, memberPath, type PartProps } from '../components/form/state.ts';
import { ToolPicker } from '../components/tool-catalog.tsx';
import { kindPage, type Row, timeColumn } from '../kind/kind-page.tsx';
import type { JsonSchema } from '../schema.ts';
import { Badge } from '../ui.ts';
import { ExportButton } from './reports/export-button.tsx';
import { Rendered } from './reports/rendered.tsx';

export const Page = kindPage('report', {
  subtitle: 'description',
  fields: {
    title: { hint: 'Like Signups by week.' },
    query: { label: 'What it asks' },
    visualization: { label: 'Shown as' },
    description: { label: 'What it tells', hint: 'One sentence for whoever opens it.' },
  },
  makes: {
    title: 'New report',
    action: 'Create report',
    intro:
      'A saved question. It is asked anew whenever somebody opens it or exports it as CSV, or a flow or an agent sends it.',
  },
  empty: 'A report is a saved question to any tool that reads.',
  columns: [
    {
      title: 'Shown as',
      cell: (row: Row) => <Badge value={String(row.visualization)} />,
      hidePriority: 2,
      width: '10rem',
    },
    timeColumn('updatedAt', 'Changed'),
  ],
  without: ['query', 'visualization'],
  controls: { query: Query },
  above: Rendered,
  actions: ExportButton,
});

function Query(props: PartProps) {
  const { value, onChange, path, issues } = props;
  const { tool = '', arguments: given } = (value ?? {}) as Partial<SavedQuery>; // as the schema of a report says
  return (
    <Frame {...props}>
      <ToolPicker
        name={tool}
        needed
        isOffered={isReading}
        issue={issueAt({ path: memberPath(path, 'tool'), issues })}
        onPick={(name) => onChange({ tool: name, arguments: {} })}
      />
      {tool !== '' && (
        <Arguments
          key={tool}
          tool={tool}
          path={memberPath(path, 'arguments')}
          given={given ?? {}}
          issues={issues}
          onChange={(next) => onChange({ tool, arguments: next })}
        />
      )}
    </Frame>
  );
}

type SavedQuery = Readonly<{ tool: string; arguments: Members }>;

/** A report that shows itself would never end. */
const RENDERS = 'get_report';

function isReading({ name, annotations }: ListedTool): boolean {
  return annotations?.readOnlyHint === true && name !== RENDERS;
}

type ArgumentsProps = Pick<PartProps, 'path' | 'issues'> &
  Readonly<{ tool: string; given: Members; onChange: (given: Members) => void }>;

function Arguments({ tool: name, path, given, issues, onChange }: ArgumentsProps) {
  const tool = useTool(name);
  const part = { name: 'arguments', path, needed: true, value: given, issues };
  const give = (next: unknown) => onChange(withoutBlank((next ?? {}) as Members)); // both parts give objects
  if (!tool) return <JsonText {...part} needed={false} schema={{ title: 'Arguments as JSON' }} onChange={give} />;
  if (Object.keys(tool.inputSchema.properties ?? {}).length === 0) return <p class="hint">It takes no arguments.</p>;
  return <Part {...part} schema={argumentsOf(tool)} onChange={give} />;
}

function argumentsOf({ inputSchema }: ListedTool): JsonSchema {
  // A report begins at the beginning.
  const { cursor: _, ...properties } = inputSchema.properties ?? {};
  return { ...inputSchema, properties, title: 'Arguments' };
}

/** A field that was emptied gives no argument. */
function withoutBlank(given: Members): Members {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined && value !== ''));
}
