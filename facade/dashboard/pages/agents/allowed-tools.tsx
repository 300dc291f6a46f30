import { at, type ListedTool, useMay, useTools } from '../../app.ts';
import { EffectBadge } from '../../components/tool-catalog.tsx';
import { patternTest } from '../../components/tools-picker.tsx';
import { pathOf, type Row } from '../../kind/spec.ts';
import { type Column, Empty, LinkButton, Mono, Table } from '../../ui.ts';

interface Allowed {
  readonly tool: ListedTool;
  /** The entry that lets it in. */
  readonly by: string;
}

/** The tools that an agent may use now, each with the entry of its allowlist that lets it in. */
export function AllowedTools({ row }: { readonly row: Row }) {
  const tools = useTools();
  const mayEdit = useMay('update_agent');
  const entries: readonly string[] = Array.isArray(row.tools) ? row.tools : [];
  const tests = entries.map((entry) => ({ entry, test: patternTest(entry) }));
  const allowed = [...(tools?.values() ?? [])].flatMap((tool): Allowed[] => {
    const found = tests.find(({ test }) => test(tool.name));
    return found ? [{ tool, by: found.entry }] : [];
  });
  const edit = mayEdit && <LinkButton text="Pick tools" to={`${pathOf({ path: '/agents' }, row)}/edit`} />;
  if (allowed.length === 0) {
    return (
      <Empty title="It may use no tools" action={edit}>
        It can only talk. Pick the tools it needs for its work.
      </Empty>
    );
  }
  return <Table label="Tools it may use" columns={COLUMNS} rows={allowed} keyOf={({ tool }) => tool.name} />;
}

const COLUMNS: readonly Column<Allowed>[] = [
  { title: 'Tool', cell: ({ tool }) => <a href={at(`/tools/${tool.name}`)}>{tool.title ?? tool.name}</a> },
  {
    title: 'Effect',
    cell: ({ tool }) => <EffectBadge {...tool} reads="plain" />,
  },
  { title: 'Allowed by', end: true, spare: 1, cell: ({ by }) => <Mono>{by}</Mono> },
];
