import { z } from 'zod';
import { importedRows, type RowType } from '../../../resources/imported-rows.ts';
import { parseJson } from '../../../resources/json.ts';
import { OperatorError } from '../../../store/errors.ts';
import { unwrap } from '../../../tools/core/registry/validate.ts';
import { type CsvRow, type MappedRow, missingColumns, type Preset, presets, rowBy, withoutEmpty } from './presets.ts';

/** `given`: what `--map` says, a preset or `member=column,...`; other columns count only where they are members. @throws OperatorError */
export function columnsFor(type: RowType, given: string | undefined): (cells: CsvRow) => MappedRow {
  const typed = typedFor(type);
  if (given === undefined) return (cells) => ({ row: typed(cells) });
  const preset = Object.hasOwn(presets, given) ? presets[given] : undefined;
  if (preset) return byPreset(type, given, preset);
  return byName(type, pairsOf(type, given), typed);
}

function byPreset(type: RowType, name: string, preset: Preset): (cells: CsvRow) => MappedRow {
  if (preset.type !== type) throw new OperatorError(`The preset ${name} makes ${preset.type}, not ${type}.`);
  const check = once((cells) => requireNone(missingColumns(preset, cells), cells));
  return (cells) => {
    check(cells);
    return rowBy(preset, cells);
  };
}

function byName(type: RowType, pairs: ReadonlyMap<string, string>, typed: (cells: CsvRow) => CsvRow) {
  const members = Object.keys(importedRows[type].schema.shape);
  const taken = new Set(pairs.values());
  const check = once((cells) =>
    requireNone(
      [...taken].filter((column) => !Object.hasOwn(cells, column)),
      cells,
    ),
  );
  return (cells: CsvRow): MappedRow => {
    check(cells);
    const named = members.flatMap((member) => {
      const column = pairs.get(member) ?? (taken.has(member) ? undefined : member);
      return column !== undefined && Object.hasOwn(cells, column) ? [[member, cells[column]] as const] : [];
    });
    return { row: typed(Object.fromEntries(named)) };
  };
}

function pairsOf(type: RowType, given: string): ReadonlyMap<string, string> {
  const pairs = given.split(',').map((pair) => pair.split('=', 2).map((part) => part.trim()));
  for (const [member = '', column = ''] of pairs) {
    if (column === '') throw new OperatorError(`--map: "${member}" is neither member=column nor a preset: ${names()}.`);
    if (!(member in importedRows[type].schema.shape))
      throw new OperatorError(
        `--map: ${type} have no ${member}; they have ${Object.keys(importedRows[type].schema.shape).join(', ')}.`,
      );
  }
  return new Map(pairs as [string, string][]); // both parts were checked
}

function names(): string {
  return Object.keys(presets).join(', ');
}

function requireNone(missing: readonly string[], cells: CsvRow): void {
  if (missing.length === 0) return;
  const own = Object.keys(cells).join(', ');
  throw new OperatorError(`--map: the file has no column ${missing.join(', ')}; it has ${own}.`);
}

/** A row of NDJSON may leave members out, so only the first row is looked at. */
function once(check: (cells: CsvRow) => void): (cells: CsvRow) => void {
  let isDone = false;
  return (cells) => {
    if (!isDone) check(cells);
    isDone = true;
  };
}

/** Texts that members take as numbers or objects become those. Empty cells are left out. */
function typedFor(type: RowType): (cells: CsvRow) => CsvRow {
  const members = Object.entries(importedRows[type].schema.shape);
  const numbers = new Set(members.filter(([, schema]) => unwrap(schema) instanceof z.ZodNumber).map(([name]) => name));
  const value = (name: string, cell: unknown) => {
    if (typeof cell !== 'string') return cell;
    if (numbers.has(name) && /^-?\d+(\.\d+)?$/.test(cell.trim())) return Number(cell);
    return name === 'properties' ? (parseJson(cell) ?? cell) : cell;
  };
  return (cells) =>
    Object.fromEntries(Object.entries(withoutEmpty(cells)).map(([name, cell]) => [name, value(name, cell)]));
}
