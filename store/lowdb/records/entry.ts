import type { Position } from '../../port.ts';
import type { Row } from '../../row.ts';

/** A record's place in the ordered sets. `row` is replaced when the record changes; the position never changes. */
export interface Entry extends Position {
  row: Row;
}
