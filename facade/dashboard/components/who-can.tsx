import { number } from '../format.ts';
import { pathOf } from '../kinds.ts';
import { useTool } from '../tools.ts';
import { usePagedList } from '../use-paged-list.ts';
import { Dialog } from './dialog.tsx';
import { Badge, Empty, Link } from './small.tsx';
import { type Column, FilteredRows } from './table.tsx';

/** As `list_who_can` answers. */
type Holder = Readonly<{
  subject: Readonly<{ type: string; id: string; name: string }>;
  verdict: 'allowed' | 'depends';
  rule: string;
}>;

type WhoCanProps = Readonly<{ tool: string; onClose: () => void }>;

/** Everybody and everything that may call the tool now, each with the rule that allows it. */
export function WhoCan({ tool, onClose }: WhoCanProps) {
  const title = useTool(tool)?.title ?? tool;
  const pages = usePagedList<Holder>('list_who_can', { tool, limit: 25, includeTotal: true });
  return (
    <Dialog title={`Who can do this? ${title}`} size="m" onClose={onClose}>
      <p class="quiet">
        {pages.total !== undefined && `${number(pages.total)} in all. `}What is disabled, revoked or expired is left
        out.
      </p>
      <FilteredRows
        label={`Who can call ${title}`}
        columns={COLUMNS}
        pages={pages}
        keyOf={({ subject }) => subject.id}
        none={<Empty title="Nobody can do this now">No person, key, capsule, app, agent or flow may call it.</Empty>}
      />
    </Dialog>
  );
}

const WORDS: Readonly<Record<string, string>> = {
  person: 'Person',
  key: 'API key',
  capsule: 'Capsule',
  app: 'Connected app',
  agent: 'Agent',
  flow: 'Flow',
};

/** Whether a call is always allowed, or for some records or arguments only. */
export const WHEN: Column<Pick<Holder, 'verdict'>> = {
  title: 'When',
  cell: ({ verdict }) => <Badge value={verdict}>{verdict === 'allowed' ? 'Always' : 'Sometimes'}</Badge>,
  alignEnd: true,
};

const COLUMNS: readonly Column<Holder>[] = [
  {
    title: 'Who',
    cell: ({ subject: { type, id, name }, rule }) => {
      const path = pathOf(id);
      return (
        <span class="name-words who-can">
          <span class="name-title">
            {path === undefined ? name : <Link to={path}>{name}</Link>}{' '}
            <Badge tone="plain">{WORDS[type] ?? type}</Badge>
          </span>
          <span class="name-more">{rule}</span>
        </span>
      );
    },
  },
  WHEN,
];
