import { Badge } from '../components/small.tsx';
import { kindPage } from '../kind/kind-page.tsx';
import { timeColumn } from '../kind/list-pane.tsx';
import type { Row } from '../kind/spec.ts';
import { Query } from './reports/query.tsx';
import { Rendered } from './reports/rendered.tsx';

export const Page = kindPage('report', {
  subtitle: 'description',
  empty: 'A report is a saved question to any tool that reads.',
  columns: [
    { title: 'Shown as', cell: (row: Row) => <Badge value={String(row.visualization)} />, spare: 2, width: '10rem' },
    timeColumn('updatedAt', 'Changed'),
  ],
  without: ['query', 'visualization'],
  controls: { query: Query },
  above: Rendered,
});
