import { at, useAnswer, usePlace, useTitle, useTool } from '../app.ts';
import { FilterText } from '../components/filters.tsx';
import { EffectBadge } from '../components/tool-catalog.tsx';
import { ToolRunner } from '../components/tool-runner.tsx';
import { Empty, LinkButton, Mono, Skeleton } from '../ui.ts';

interface Category {
  readonly category: string;
  readonly tools: readonly { readonly name: string; readonly title: string; readonly description: string }[];
}

/** Every tool that the person may call, by group, and a form to try each. */
export function Page() {
  const [, open] = usePlace().parts;
  return (
    <div class={open === undefined ? 'kind' : 'kind with-detail'}>
      <ToolList open={open} />
      {open !== undefined && <OneTool key={open} name={open} />}
    </div>
  );
}

function ToolList({ open }: { readonly open: string | undefined }) {
  const { data } = useAnswer<{ data: readonly Category[] }>('list_tool_categories');
  const { query } = usePlace();
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
      <header class="page-head">
        <h1>Tools</h1>
        {count > 0 && <span class="page-count">{count}</span>}
      </header>
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
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label="All tools" to="/tools" />
        <Mono>{name}</Mono>
      </header>
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
