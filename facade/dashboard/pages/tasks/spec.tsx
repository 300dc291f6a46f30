import { Badge, Time } from '../../components/small.tsx';
import { type Row, specOf } from '../../kind/spec.ts';
import { TaskText } from './task-text.tsx';
import { ViewChoice } from './view-choice.tsx';

export const taskSpec = specOf('task', {
  empty: 'Work for people and agents, with a text of its own.',
  columns: [
    { title: 'Status', cell: (row: Row) => <Badge value={String(row.status)} />, width: '7.5rem' },
    { title: 'Priority', cell: (row: Row) => <Badge value={String(row.priority)} />, spare: 2 },
    { title: 'Due', cell: (row: Row) => <Time at={row.dueAt as string} />, end: true, spare: 2 },
  ],
  headControls: ViewChoice,
  below: TaskText,
});
