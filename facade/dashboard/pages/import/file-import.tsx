import { useMemo, useState } from 'preact/hooks';
import { csvOf } from '../../../../resources/csv.ts';
import { presets } from '../../../commands/import/presets.ts';
import { counted, number, useTool } from '../../app.ts';
import { Field } from '../../components/form/field.tsx';
import { optionsOf, Select } from '../../components/form/select.tsx';
import { download } from '../../download.ts';
import { Button, type Column, ErrorBox, Mono, Table } from '../../ui.ts';
import {
  columnsOf,
  type FileRow,
  type Fixed,
  fittingPresets,
  guessed,
  lacksOf,
  type Mapping,
  type Member,
  mappedRows,
  memberLabel,
  membersOf,
  type PresetRows,
  presetRows,
} from './rows.ts';
import { importRows, type Progress, type Refused } from './run.ts';
import { SameValues } from './same-values.tsx';

export type ReadFile = Readonly<{ name: string; rows: readonly FileRow[] }>;

type FileImportProps = Readonly<{ file: ReadFile; onBusy: (busy: boolean) => void }>;

export function FileImport({ file, onBusy }: FileImportProps) {
  const schema = useTool('import_records')?.inputSchema.properties;
  const types = (schema?.type?.enum ?? []).map(String);
  const [made, setMade] = useState(() => fittingPresets(file.rows).fitting[0]);
  const preset = made === undefined ? undefined : presets[made];
  const [picked, setPicked] = useState(types.find((one) => file.name.toLowerCase().includes(one)) ?? 'users');
  const type = preset?.type ?? picked;
  const columns = useMemo(() => columnsOf(file.rows), [file]);
  const members = useMemo(() => membersOf(schema?.records?.description, type), [schema, type]);
  const [chosen, setChosen] = useState<Mapping>();
  const mapping = useMemo(() => chosen ?? guessed(columns.keys(), members), [chosen, columns, members]);
  const { run, stop, forgetCheck, progress, error } = useImport(onBusy);
  const same = useSameValues(type, preset ? [] : members, mapping, forgetCheck);
  const count = made !== undefined && lacksOf(made, file.rows).length > 0 ? 0 : file.rows.length;
  const isNothing = count === 0 || same.fixed.size < same.missing.length;
  const importText = `Import ${counted(count, 'row')}`;
  const begin = (dryRun: boolean) => {
    const byColumns = () => ({ rows: mappedRows(file.rows, mapping, same.fixed), leftOut: new Map<string, number>() });
    void run(type, preset ? presetRows(preset, file.rows) : byColumns(), dryRun);
  };
  const pick = (next: string, its: Mapping | undefined) => {
    setPicked(next);
    setChosen(its);
    forgetCheck();
  };
  const pickPreset = (name: string | undefined) => {
    setMade(name);
    forgetCheck();
  };
  return (
    <>
      <MadeBy rows={file.rows} value={made} onChange={pickPreset} />
      {!preset && (
        <Field label="Rows are">
          {(tied) => (
            <Select {...tied} value={type} options={optionsOf(types)} onPick={(next) => pick(next, undefined)} />
          )}
        </Field>
      )}
      {file.rows.length === 0 && <p class="note warn">{`There are no rows in ${file.name}.`}</p>}
      {!stop && !preset && columns.size > 0 && (
        <>
          <Columns columns={columns} members={members} mapping={mapping} onChange={(its) => pick(type, its)} />
          <SameValues type={type} keyed={members[0]?.name} {...same} />
        </>
      )}
      <div class="actions">
        {stop ? (
          <Button text="Stop" icon="stop" onClick={stop} />
        ) : (
          <>
            <Button text={importText} look="primary" icon="import" disabled={isNothing} onClick={() => begin(false)} />
            <Button text="Check first" disabled={isNothing} onClick={() => begin(true)} />
          </>
        )}
      </div>
      {error !== undefined && <ErrorBox error={error} />}
      {progress && <Outcome progress={progress} running={stop !== undefined} />}
    </>
  );
}

/** The values that hold for all rows, as far as no column becomes their member. */
function useSameValues(type: string, members: readonly Member[], mapping: Mapping, forgetCheck: () => void) {
  const [last, setLast] = useState<Readonly<{ type: string; given: Fixed }>>();
  const given: Fixed = last?.type === type ? last.given : new Map();
  const missing = missingOf(members, mapping);
  const onChange = (next: Fixed) => {
    setLast({ type, given: next });
    forgetCheck();
  };
  const fixed: Fixed = new Map([...given].filter(([name, value]) => missing.includes(name) && value.trim() !== ''));
  return { missing, given, fixed, onChange };
}

/** One import or check at a time, which can be stopped. A check is forgotten when something else would be sent. */
function useImport(onBusy: (busy: boolean) => void) {
  const [progress, setProgress] = useState<Progress>();
  const [error, setError] = useState<unknown>();
  const [control, setControl] = useState<AbortController>();
  const run = async (type: string, { rows, leftOut }: PresetRows, dryRun: boolean) => {
    const begun = new AbortController();
    setControl(begun);
    setError(undefined);
    onBusy(true);
    const onProgress = (now: Progress) => setProgress({ ...now, leftOut });
    await importRows(type, rows, { dryRun, signal: begun.signal, onProgress }).catch(setError);
    setControl(undefined);
    onBusy(false);
  };
  const forgetCheck = () => setProgress((now) => (now?.dryRun ? undefined : now));
  return { run, forgetCheck, stop: control && (() => control.abort()), progress, error };
}

interface MadeByProps {
  readonly rows: readonly FileRow[];
  /** The name of a preset; undefined: columns are chosen one by one. */
  readonly value: string | undefined;
  readonly onChange: (preset: string | undefined) => void;
}

/** Whose export the file is, where its columns need no choosing. */
function MadeBy({ rows, value, onChange }: MadeByProps) {
  const { fitting, others } = fittingPresets(rows);
  const lacks = value === undefined ? [] : lacksOf(value, rows);
  const about = value === undefined ? undefined : presets[value]?.about;
  return (
    <Field
      label="Exported from"
      hint={about && `This is ${about}.`}
      issue={lacks.length > 0 ? `The file has no column ${lacks.join(', ')}: it is another one.` : undefined}
    >
      {(tied) => (
        <Select
          {...tied}
          value={value ?? ''}
          none="Another program: choose the columns"
          options={optionsOf([...fitting, ...others])}
          onPick={(name) => onChange(name || undefined)}
        />
      )}
    </Field>
  );
}

/** The members that every row needs and no column becomes. */
function missingOf(members: readonly Member[], mapping: Mapping): readonly string[] {
  const given = [...mapping.values()];
  return members.filter(({ name, needed }) => needed && !given.includes(name)).map(({ name }) => name);
}

interface ColumnsProps {
  /** The columns of the file, with some of their values. */
  readonly columns: ReadonlyMap<string, readonly string[]>;
  readonly members: readonly Member[];
  readonly mapping: Mapping;
  readonly onChange: (mapping: Mapping) => void;
}

function Columns({ columns, members, mapping, onChange }: ColumnsProps) {
  const give = (column: string, member: string) => {
    const others = [...mapping].filter(([other, taken]) => other !== column && taken !== member);
    onChange(new Map(member === '' ? others : [...others, [column, member]]));
  };
  const options = members.map(({ name, needed }) => {
    const label = memberLabel(name);
    return { value: name, label: needed ? `${label} (required)` : label };
  });
  const shown: readonly Column<FileColumn>[] = [
    { title: 'In the file', cell: ([column]) => <Mono>{column}</Mono> },
    {
      title: 'Such as',
      cell: ([, values]) => <span class="quiet">{values.join(', ').slice(0, MOST_CHARACTERS)}</span>,
      hidePriority: 1,
    },
    {
      title: 'Becomes',
      cell: ([column]) => (
        <Select
          aria-label={`${column} becomes`}
          value={mapping.get(column) ?? ''}
          none="Not imported"
          options={options}
          onPick={(member) => give(column, member)}
        />
      ),
      width: '15rem',
    },
  ];
  return (
    <section aria-labelledby="columns" class="import-columns">
      <h2 id="columns">Columns</h2>
      <Table label="Columns" columns={shown} rows={[...columns]} keyOf={([column]) => column} />
    </section>
  );
}

type FileColumn = readonly [string, readonly string[]];
const MOST_CHARACTERS = 80;

function Outcome({ progress, running }: { readonly progress: Progress; readonly running: boolean }) {
  const { dryRun, done, of, created, updated, unchanged, refused, leftOut, waitSeconds } = progress;
  const others = [...(leftOut ?? [])].map(([reason, rows]) => `, ${number(rows)} left out (${reason})`).join('');
  return (
    <section class="import-outcome" aria-label={dryRun ? 'Check' : 'Import'}>
      <progress class="import-progress" value={done} max={Math.max(1, of)} aria-label="Progress" />
      <p role="status">
        <strong>
          {running
            ? `${number(done)} of ${counted(of, 'row')}`
            : `${counted(done, 'row')} ${dryRun ? 'checked' : 'read'}`}
        </strong>
        <span class="quiet">
          {`: ${number(created)} new, ${number(updated)} changed, ${number(unchanged)} unchanged, ${number(refused.length)} refused${others}`}
          {dryRun && '. This is a check: nothing is imported.'}
        </span>
      </p>
      {running && waitSeconds !== undefined && (
        <p class="note" role="status">
          The server takes more in {counted(waitSeconds, 'second')}; it goes on by itself.
        </p>
      )}
      {refused.length > 0 && <RefusedRows refused={refused} />}
    </section>
  );
}

const MOST_REFUSED = 100;

function RefusedRows({ refused }: { readonly refused: readonly Refused[] }) {
  const hand = () =>
    download('refused-rows.csv', csvOf(refused.map(({ line, problem, row }) => ({ line, problem, ...row }))));
  return (
    <>
      <header class="section-head">
        <h2>{`${counted(refused.length, 'row')} refused`}</h2>
        <Button text="Refused rows" icon="download" onClick={hand} />
      </header>
      <Table
        label="Refused rows"
        columns={COLUMNS}
        rows={refused.slice(0, MOST_REFUSED)}
        keyOf={({ line, problem }) => `${line} ${problem}`}
      />
    </>
  );
}

const COLUMNS: readonly Column<Refused>[] = [
  { title: 'Line', cell: ({ line }) => number(line), width: '5rem' },
  { title: 'Why', cell: ({ problem }) => problem },
];
