import { missingColumns, type Preset, presets, rowBy } from '../../../import/presets.ts';
import type { FileRow, ImportedRow } from './rows.ts';

/** The rows of a file as a preset makes them, and how many it leaves out for which reason. */
export type PresetRows = Readonly<{ rows: readonly FileRow[]; leftOut: ReadonlyMap<string, number> }>;

/** The presets by name, those first whose columns the file has. */
export function fittingPresets(rows: readonly FileRow[]): { readonly fitting: string[]; readonly others: string[] } {
  const names = Object.keys(presets);
  const fitting = names.filter((name) => lacksOf(name, rows).length === 0);
  return { fitting, others: names.filter((name) => !fitting.includes(name)) };
}

/** The columns that the preset needs and the file lacks. */
export function lacksOf(name: string, rows: readonly FileRow[]): readonly string[] {
  const preset = presets[name];
  const first = rows.find((one) => 'row' in one);
  return preset ? missingColumns(preset, first && 'row' in first ? first.row : {}) : [];
}

export function presetRows(preset: Preset, rows: readonly FileRow[]): PresetRows {
  const leftOut = new Map<string, number>();
  const made = rows.flatMap((one): FileRow[] => {
    if ('problem' in one) return [one];
    const mapped = mappedBy(preset, one.row);
    if ('row' in mapped) return [{ line: one.line, row: mapped.row }];
    if ('problem' in mapped) return [{ line: one.line, problem: mapped.problem }];
    leftOut.set(mapped.leftOut, (leftOut.get(mapped.leftOut) ?? 0) + 1);
    return [];
  });
  return { rows: made, leftOut };
}

/** A row whose members are of another kind than the preset takes is refused like any other. */
function mappedBy(preset: Preset, row: ImportedRow) {
  try {
    return rowBy(preset, row);
  } catch {
    return { problem: `The row does not have the form that the preset takes: ${preset.needs.join(', ')}.` };
  }
}
