import type { Row } from '../../kind/spec.ts';

export interface GridColumn {
  readonly name: string;
  readonly type: string;
  readonly required?: boolean;
}

export interface GridRecord {
  readonly id: string;
  readonly values: Row;
  readonly revision: number;
}

export function columnsOf({ columns }: Row): readonly GridColumn[] {
  return Array.isArray(columns) ? columns : [];
}
