import { counted } from '../format.ts';
import { kindPage } from '../kind/kind-page.tsx';
import { timeColumn } from '../kind/list-pane.tsx';
import type { Row } from '../kind/spec.ts';
import { Grid } from './databases/grid.tsx';
import { columnsOf } from './databases/record-dialog.tsx';

export const Page = kindPage('database', {
  subtitle: 'description',
  empty: 'A database is a table with columns of your choice.',
  columns: [
    { title: 'Columns', cell: (row: Row) => counted(columnsOf(row).length, 'column'), spare: 2, width: '10rem' },
    timeColumn('updatedAt', 'Changed'),
  ],
  without: ['columns'],
  below: Grid,
  loss: () => 'All its records are deleted with it.',
});
