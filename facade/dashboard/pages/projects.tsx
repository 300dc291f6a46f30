import { wordOf } from '../format.ts';
import { kindPage } from '../kind/kind-page.tsx';
import { Inside } from './projects/inside.tsx';

const KINDS = ['tasks', 'goals', 'documents'] as const;

export const Page = kindPage('project', {
  subtitle: 'description',
  versions: 'project',
  tabs: (row) =>
    KINDS.map((kind) => ({
      id: kind,
      label: wordOf(kind),
      content: () => <Inside projectId={String(row.id)} kind={kind} />,
    })),
  empty: 'A project holds goals, tasks and documents together.',
});
