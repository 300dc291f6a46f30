import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  type Answer,
  act,
  CallError,
  go,
  text,
  useAnswer,
  useListedRecord,
  useNames,
  useTitle,
  useTool,
} from '../app.ts';
import { initial } from '../components/form/state.ts';
import { inWords } from '../components/form/words.ts';
import { Prose } from '../components/prose.tsx';
import { VersionHistory } from '../components/versions.tsx';
import { useLive } from '../live-updates.ts';
import type { JsonSchema } from '../schema.ts';
import {
  Avatar,
  Badge,
  ConfirmDialog,
  DetailBar,
  Empty,
  ErrorBox,
  Facts,
  Fields,
  Link,
  LinkButton,
  Menu,
  Mono,
  Skeleton,
  Tabs,
  Time,
  titleIn,
  toast,
} from '../ui.ts';
import { EditForm, tookJustMade } from './forms.tsx';
import { idOf, type KindSpec, naming, pathOf, type Row, titleOf } from './spec.ts';

type DetailProps = Readonly<{ spec: KindSpec; id: string; edits: boolean }>;

export function DetailPane({ spec, id, edits }: DetailProps) {
  const { data, error } = useRecord(spec, id);
  useLive([`${spec.one.replaceAll('_', '-')}://${encodeURIComponent(id)}`]);
  useTitle(data && titleOf(spec, data));
  if (error && !data) {
    return (
      <section class="detail-pane">
        {error.code === 'not_found' ? <Gone spec={spec} id={id} /> : <ErrorBox error={error} />}
      </section>
    );
  }
  return (
    <section class="detail-pane" aria-label={data ? titleOf(spec, data) : text.loading} aria-busy={!data}>
      {!data && <Skeleton lines={8} />}
      {data && (edits ? <EditForm key={id} spec={spec} row={data} /> : <Detail spec={spec} row={data} />)}
    </section>
  );
}

/** The record by its get tool; kinds without one are found in their list. */
function useRecord(spec: KindSpec, id: string): Answer<Row> {
  const names = useNames();
  const get = `get_${spec.one}`;
  const isListed = !names.has(get);
  const got = useAnswer<Row>(isListed ? undefined : get, naming(spec, id));
  const list = isListed ? `list_${spec.many}` : undefined;
  const { isGone, ...listed } = useListedRecord<Row>(list, { limit: 100, ...spec.input }, (row) => {
    return idOf(spec, row) === id;
  });
  if (!isListed) return got;
  return {
    ...listed,
    ...(isGone && { error: new CallError(get, { error: `${id} is gone.`, code: 'not_found' }) }),
  };
}

function Gone({ spec, id }: { readonly spec: KindSpec; readonly id: string }) {
  return (
    <Empty
      title={`There is no such ${spec.words.one}`}
      action={<LinkButton text={`All ${spec.words.many}`} to={spec.path} />}
    >
      {id} was deleted, or you may not see it.
    </Empty>
  );
}

function Detail({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  const names = useNames();
  const [deletes, setDeletes] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = idOf(spec, row);
  useEffect(() => {
    if (tookJustMade(id)) heading.current?.focus();
  }, [id]);
  const title = titleOf(spec, row);
  const said = spec.subtitle && row[spec.subtitle];
  const Actions = spec.actions;
  const isDeleted = row.status === 'deleted';
  const mayDelete = names.has(`delete_${spec.one}`) && !isDeleted;
  const items = [
    ...(spec.menu?.(row) ?? []),
    ...(mayDelete ? [{ label: text.delete, icon: 'trash' as const, alarm: true, run: () => setDeletes(true) }] : []),
  ];
  return (
    <>
      <DetailBar all={spec.words.many} to={spec.path} name={title}>
        <span class="page-actions">
          {Actions && <Actions row={row} />}
          {names.has(`update_${spec.one}`) && !isDeleted && (
            <LinkButton text={text.edit} to={`${pathOf(spec, row)}/edit`} />
          )}
          <Menu items={items} />
        </span>
      </DetailBar>
      <div class="detail-title">
        {spec.avatar && <Avatar name={title} size="l" />}
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}{' '}
            {spec.badge ? (
              <Badge {...spec.badge(row)} />
            ) : (
              typeof row.status === 'string' && <Badge value={row.status} />
            )}
          </h1>
          {said !== undefined && said !== '' && <p class="quiet">{String(said)}</p>}
        </div>
      </div>
      <Tabs label={title} tabs={tabsOf(spec, row, names)} />
      {deletes && <DeleteDialog spec={spec} row={row} onClose={() => setDeletes(false)} />}
    </>
  );
}

function tabsOf(spec: KindSpec, row: Row, names: ReadonlySet<string>) {
  const { versions } = spec;
  return [
    { id: 'overview', label: text.overview, content: () => <Overview spec={spec} row={row} /> },
    ...(spec.tabs?.(row) ?? []).filter(({ needs }) => needs === undefined || names.has(needs)),
    ...(versions === undefined
      ? []
      : [
          {
            id: 'versions',
            label: text.versions,
            count: typeof row.revision === 'number' ? row.revision : undefined,
            content: () => <VersionHistory entityType={versions} entityId={idOf(spec, row)} />,
          },
        ]),
  ];
}

/** Where there are versions, a link leads back; elsewhere the name is typed, unless it is quickly made anew. */
function DeleteDialog({ spec, row, onClose }: Readonly<{ spec: KindSpec; row: Row; onClose: () => void }>) {
  const title = titleOf(spec, row);
  const guarded = useTool(`delete_${spec.one}`)?.inputSchema.properties?.expectedRevision !== undefined;
  const run = async () => {
    const revision = guarded && typeof row.revision === 'number' ? { expectedRevision: row.revision } : {};
    await act(`delete_${spec.one}`, { ...naming(spec, idOf(spec, row)), ...revision });
    go(spec.path);
    toast(
      <>
        {title} is deleted.{' '}
        {spec.versions && (
          <Link to={`/history/${spec.versions}/${encodeURIComponent(idOf(spec, row))}`}>Restore it</Link>
        )}
      </>,
    );
  };
  return (
    <ConfirmDialog
      title={`Delete ${title}?`}
      action={`${text.delete} ${spec.words.one}`}
      typed={spec.versions === undefined && !spec.isQuickToMake ? title : undefined}
      run={run}
      onClose={onClose}
    >
      <p>
        {spec.loss?.(row) ?? (spec.versions ? 'Its versions stay, so it can be restored.' : 'It cannot be restored.')}
      </p>
    </ConfirmDialog>
  );
}

const BOOKKEEPING = ['id', 'uid', 'createdAt', 'updatedAt', 'revision', 'status', 'warnings'];
const LONG = 160;

const NO_WORDS: NonNullable<KindSpec['fields']> = {};

/** The schema of a record with the words and the order of its form. */
function useWordedSchema({ one, fields = NO_WORDS }: KindSpec): JsonSchema | undefined {
  const schema = useTool(`get_${one}`)?.outputSchema;
  return useMemo(() => schema && inWords(schema, fields), [schema, fields]);
}

/** The members that the overview shows. What the form folds is left out where it is not set, or as it is for any record. */
function useShownMembers(spec: KindSpec, row: Row, schema: JsonSchema | undefined, inherited: Row): readonly string[] {
  const defaults = useTool(`create_${spec.one}`)?.inputSchema.properties;
  const { title, subtitle = title, advanced = [], without = [] } = spec;
  const away = new Set([...BOOKKEEPING, ...without, title, subtitle]);
  const isUsual = (name: string) => {
    const value = row[name];
    const isNothing = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
    return (
      advanced.includes(name) && (isNothing || JSON.stringify(value) === JSON.stringify(usualOf(defaults?.[name])))
    );
  };
  return [...new Set([...Object.keys(schema?.properties ?? {}), ...Object.keys(row)])].filter(
    (name) => !away.has(name) && !isUsual(name) && (row[name] ?? inherited[name]) !== undefined,
  );
}

function usualOf(schema: JsonSchema | undefined): unknown {
  return schema && initial(schema);
}

function Overview({ spec, row }: { readonly spec: KindSpec; readonly row: Row }) {
  const schema = useWordedSchema(spec);
  const { above: Above, below: Below } = spec;
  const inherited = spec.useInherited?.() ?? {};
  const { createdAt, updatedAt, revision } = row;
  const names = useShownMembers(spec, row, schema, inherited);
  const blocks = names.filter((name) => spec.blocks?.includes(name) || isLong(row[name]));
  return (
    <div class="overview">
      <Warnings warnings={row.warnings} />
      {Above && <Above row={row} />}
      <Fields
        record={row}
        schema={schema}
        only={names.filter((name) => !blocks.includes(name))}
        inherited={inherited}
      />
      <Facts
        of={{
          Changed: typeof updatedAt === 'string' && (
            <>
              <Time at={updatedAt} /> {typeof revision === 'number' && <span class="faint">· revision {revision}</span>}
            </>
          ),
          Created: typeof createdAt === 'string' && <Time at={createdAt} />,
          ID: (
            <span class="anywhere">
              <Mono>{idOf(spec, row)}</Mono>
            </span>
          ),
        }}
      />
      {blocks.map((name) => (
        <section key={name} class="block">
          <h2>{titleIn(schema, name)}</h2>
          <div class={spec.prose?.includes(name) ? 'block-prose' : 'block-text'}>
            {spec.prose?.includes(name) ? <Prose text={String(row[name])} /> : String(row[name])}
          </div>
        </section>
      ))}
      {Below && <Below row={row} />}
    </div>
  );
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && (value.length > LONG || value.includes('\n'));
}

function Warnings({ warnings }: { readonly warnings: unknown }) {
  if (!Array.isArray(warnings) || warnings.length === 0) return null;
  return (
    <div class="note warn" role="note">
      {warnings.map((warning) => (
        <p key={String(warning)}>{String(warning)}</p>
      ))}
    </div>
  );
}
