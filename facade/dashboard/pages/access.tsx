import { setQuery, useAnswer, useLocation, useTools } from '../app.ts';
import { type Allowed, ViewAs } from '../components/view-as.tsx';
import type { Row } from '../kind/spec.ts';
import type { Tools } from '../tools.ts';
import {
  Badge,
  type Column,
  Dialog,
  Empty,
  NamedRef,
  PageBody,
  PagedTable,
  Segments,
  showDialog,
  type Tone,
} from '../ui.ts';
import { usePagedList } from '../use-paged-list.ts';

/** Who there is, with the tool that lists them and the member of `view_as` that names one. */
const HOLDERS = [
  { value: '', label: 'People', tool: 'list_admin_users', of: 'userId' },
  { value: 'keys', label: 'Keys', tool: 'list_api_keys', of: 'keyId' },
  { value: 'capsules', label: 'Capsules', tool: 'list_capsules', of: 'capsuleId' },
  { value: 'apps', label: 'Connected apps', tool: 'list_connected_apps', of: 'appId' },
  { value: 'agents', label: 'Agents', tool: 'list_agents', of: 'agentId' },
] as const;

type Holder = (typeof HOLDERS)[number];

/** Columns of the table, each the categories of tools that people think of together. */
const AREAS: readonly (readonly [title: string, categories: readonly string[]])[] = [
  ['Agents', ['Agents', 'Agent runs', 'Skills', 'Models']],
  ['Flows', ['Flows']],
  ['Chats', ['Threads']],
  ['Knowledge', ['Documents', 'Memory', 'Databases', 'Artifacts', 'Projects', 'Goals', 'Tasks']],
  ['Business', ['Users', 'Analytics', 'Reports', 'Data']],
  ['Outside', ['Integrations', 'Connections', 'Webhooks']],
  ['Access', ['Admin Users', 'API keys', 'Sessions', 'Connected apps', 'Capsules', 'Access', 'Approvals']],
  ['Operation', ['Settings', 'Audit', 'Usage', 'Versions', 'System']],
];

export function Page() {
  const { query } = useLocation();
  const tools = useTools();
  const options = HOLDERS.filter(({ tool }) => tools?.has(tool) ?? true);
  const holder = options.find(({ value }) => value === query.get('of')) ?? options[0];
  if (!holder) return null;
  return (
    <PageBody title="Who can do what" width="wide">
      <div class="metric">
        <Segments
          label="Who"
          value={holder.value}
          options={options}
          onChange={(value) => setQuery({ of: value === '' ? undefined : value })}
        />
        <Matrix key={holder.tool} {...holder} />
      </div>
    </PageBody>
  );
}

type Category = Readonly<{ category: string; tools: readonly { readonly name: string }[] }>;

function Matrix(holder: Holder) {
  const pages = usePagedList<Row>(holder.tool, { limit: 20 });
  const { data, error } = useAnswer<{ data: readonly Category[] }>('list_tool_categories');
  const areas = AREAS.map(([title, categories]): Area => {
    const isIn = (name: string) => categories.includes(name.replace(/^(Integrations)\/.*/, '$1')); // theirs: Integrations/far
    const tools = data?.data.flatMap((one) => (isIn(one.category) ? one.tools.map(({ name }) => name) : []));
    return { title, tools: tools ?? [] };
  });
  const missing = data ? undefined : missingOf(error);
  const columns: Column<Row>[] = areas.map(({ title, tools }) => ({
    title,
    cell: (row) => <Reach row={row} holder={holder} tools={tools} missing={missing} />,
    hidePriority: 1,
  }));
  const first: Column<Row> = {
    title: holder.label,
    cell: (row) => (
      <span class="name-words">
        <NamedRef id={String(row.id)} name={nameOf(row)} />
        <InWords row={row} holder={holder} areas={areas} missing={missing} />
      </span>
    ),
  };
  return (
    <PagedTable
      label={`What ${holder.label.toLowerCase()} can do`}
      columns={[first, ...columns]}
      pages={pages}
      none={<Empty title={`No ${holder.label.toLowerCase()} yet`} />}
    />
  );
}

function nameOf({ email, displayName, name, client, id }: Row): string {
  const app = client as { readonly name: string } | undefined; // of a connected app
  return String(email ?? displayName ?? app?.name ?? name ?? id);
}

type Area = Readonly<{ title: string; tools: readonly string[] }>;

/** The row in a sentence, where there is no room for its columns. */
function InWords({ areas, ...of }: Omit<ReachProps, 'tools'> & Readonly<{ areas: readonly Area[] }>) {
  const { allowed, known, missing } = useAllowed(of);
  if (!allowed) return <span class="name-more reach-words">{missing}</span>;
  const titlesOf = (word: string) =>
    areas.flatMap(({ title, tools }) => {
      const reach = accessSummary(allowed, tools, known);
      if (reach?.word !== word) return [];
      return reach.isSome ? `${title} (some)` : title;
    });
  const words = (['All', 'Changes', 'Reads'] as const).flatMap((word) => {
    const titles = titlesOf(word);
    return titles.length > 0 ? `${word}: ${titles.join(', ')}` : [];
  });
  return <span class="name-more reach-words">{words.join('; ') || 'Nothing'}</span>;
}

type ReachProps = Readonly<{ row: Row; holder: Holder; tools: readonly string[]; missing: string | undefined }>;

/** Stands where an answer is not there, which is another thing than no rights. */
function missingOf(error: unknown): string {
  return error === undefined ? '…' : 'Not known';
}

/** What the one of the row may call; all parts of a row share one answer. `missing` stands for it until it is there. */
function useAllowed({ row, holder, missing }: Omit<ReachProps, 'tools'>) {
  const { data, error } = useAnswer<{ data: readonly Allowed[] }>('view_as', { [holder.of]: String(row.id) });
  const known = useTools();
  const found = data?.data ?? (error?.code === 'not_found' ? [] : undefined); // as it says of who can call nothing
  const waits = missing ?? (found ? (known ? undefined : '…') : missingOf(error));
  return waits === undefined ? { allowed: found, known } : { missing: waits };
}

/** What one can do in an area. */
function Reach({ tools, ...of }: ReachProps) {
  const { row, holder } = of;
  const { allowed, known, missing } = useAllowed(of);
  if (!allowed) return <span class="faint">{missing}</span>;
  const reach = accessSummary(allowed, tools, known);
  if (!reach) return <span class="faint">–</span>;
  const open = () =>
    showDialog((close) => (
      <Dialog title={`What ${nameOf(row)} can do`} size="m" onClose={close}>
        <ViewAs of={{ [holder.of]: String(row.id) }} only={tools} />
      </Dialog>
    ));
  return (
    <button type="button" class="reach" onClick={open}>
      <Badge tone={reach.tone}>{reach.word}</Badge> {reach.isSome && <span class="name-more">some</span>}
    </button>
  );
}

/** What the tools of an area come to; undefined where none may be called. `isSome`: for some records only. */
function accessSummary(allowed: readonly Allowed[], tools: readonly string[], known: Tools | undefined) {
  const may = allowed.filter(({ tool }) => tools.includes(tool));
  if (may.length === 0) return undefined;
  const isReading = ({ tool }: Allowed) => known?.get(tool)?.annotations?.readOnlyHint === true;
  const word = may.length === tools.length ? 'All' : may.every(isReading) ? 'Reads' : 'Changes';
  const tone: Tone = word === 'Reads' ? 'plain' : 'warn';
  return { word, tone, isSome: may.every(({ verdict }) => verdict === 'depends') };
}
