import type { Row } from '../../kind/spec.ts';

export type GridColumn = Readonly<{ name: string; type: string; required?: boolean }>;

export type GridRecord = Readonly<{ id: string; values: Row; revision: number }>;

export function columnsOf({ columns }: Row): readonly GridColumn[] {
  return Array.isArray(columns) ? columns : [];
}
