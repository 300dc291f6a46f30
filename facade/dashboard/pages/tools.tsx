import { at, type ListAnswer, useAnswer, useLocation, useTitle, useTool } from '../app.ts';
import { FilterText } from '../components/filters.tsx';
import { EffectBadge } from '../components/tool-catalog.tsx';
import { ToolRunner } from '../components/tool-runner.tsx';
import { WhoCanButton } from '../components/who-can-button.tsx';
import { DetailBar, Empty, Mono, PageHead, Skeleton } from '../ui.ts';

type ToolRow = Readonly<Record<'name' | 'title' | 'description', string>>;
type Category = Readonly<{ category: string; tools: readonly ToolRow[] }>;

export function Page() {
  const [, open] = useLocation().parts;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <ToolList open={open} />
      {open !== undefined && <OneTool key={open} name={open} />}
    </div>
  );
}

function ToolList({ open }: { readonly open: string | undefined }) {
  const { data } = useAnswer<ListAnswer<Category>>('list_tool_categories');
  const { query } = useLocation();
  const typed = (query.get('q') ?? '').toLowerCase();
  const groups = (data?.data ?? [])
    .map(({ category, tools }) => ({
      category,
      tools: tools.filter((tool) => `${tool.name} ${tool.title} ${tool.description}`.toLowerCase().includes(typed)),
    }))
    .filter(({ tools }) => tools.length > 0);
  const count = groups.reduce((sum, { tools }) => sum + tools.length, 0);
  return (
    <section class="list-pane" aria-label="Tools">
      <PageHead title="Tools" count={count} />
      <div class="filters">
        <FilterText label="Filter tools" />
      </div>
      {!data && <Skeleton lines={8} />}
      {data && count === 0 && <Empty title="No tools match">Change the filter.</Empty>}
      {groups.map(({ category, tools }) => (
        <section key={category} class="tool-group" aria-label={category}>
          <h2 class="tool-category">{category}</h2>
          {tools.map(({ name, title, description }) => (
            <a
              key={name}
              class="tool-row"
              href={`${at(`/tools/${name}`)}${typed && `?q=${encodeURIComponent(typed)}`}`}
              aria-current={name === open ? 'true' : undefined}
            >
              <span class="tool-title">
                {title} <Mono>{name}</Mono>
              </span>
              <span class="tool-about">{description.replaceAll('`', '')}</span>
            </a>
          ))}
        </section>
      ))}
    </section>
  );
}

function OneTool({ name }: { readonly name: string }) {
  const tool = useTool(name);
  useTitle(tool?.title ?? name);
  return (
    <section class="detail-pane" aria-label={tool?.title ?? name}>
      <DetailBar all="tools" to="/tools" id={name}>
        <span class="page-actions">{tool && <WhoCanButton tool={name} />}</span>
      </DetailBar>
      <div class="detail-title">
        <div>
          <h1>
            {tool?.title ?? name} <EffectBadge annotations={tool?.annotations ?? {}} reads="good" />
          </h1>
          <p class="quiet">{tool?.description?.replaceAll('`', '')}</p>
        </div>
      </div>
      <ToolRunner name={name} />
    </section>
  );
}
