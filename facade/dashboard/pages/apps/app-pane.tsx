import { go, useMay, usePagedList, useTitle } from '../../app.ts';
import { Empty, ErrorBox, LinkButton, Mono, NamedValue, Skeleton, Time } from '../../ui.ts';
import { BudgetsOf } from '../budgets/budgets-of.tsx';
import { type App, AppHost, Disconnect, For, May } from './app.tsx';

/** One connected app: what it may do, for whom, and what limits it. */
export function AppPane({ id }: { readonly id: string }) {
  const { rows, loading, error } = usePagedList<App>('list_connected_apps', { limit: 100 });
  const app = rows.find((one) => one.id === id);
  useTitle(app?.client.name);
  return (
    <section class="page-body" aria-label={app?.client.name ?? 'Connected app'}>
      {error && <ErrorBox error={error} />}
      {app ? <Shown app={app} /> : !error && (loading ? <Skeleton lines={6} /> : <Gone id={id} />)}
    </section>
  );
}

function Shown({ app }: { readonly app: App }) {
  const mayEnd = useMay('disconnect_app');
  const mayBudget = useMay('list_budgets');
  const { client, createdAt, lastUsedAt } = app;
  return (
    <>
      <header class="detail-bar">
        <LinkButton look="quiet" icon="back" label="All connected apps" to="/apps" />
        <Mono>{app.id}</Mono>
        <span class="page-actions">{mayEnd && <Disconnect app={app} onDone={() => go('/apps')} />}</span>
      </header>
      <div class="detail-title">
        <h1>
          {client.name} <AppHost client={client} />
        </h1>
      </div>
      <div class="overview">
        <dl class="fields">
          <NamedValue name="May">
            <May {...app} />
          </NamedValue>
          <NamedValue name="For">
            <For {...app} />
          </NamedValue>
          <NamedValue name="Used">
            <Time at={lastUsedAt} />
          </NamedValue>
          <NamedValue name="Since">
            <Time at={createdAt} />
          </NamedValue>
        </dl>
        {mayBudget && (
          <section class="block">
            <h2>Budgets</h2>
            <BudgetsOf type="app" id={app.id} />
          </section>
        )}
      </div>
    </>
  );
}

function Gone({ id }: { readonly id: string }) {
  return (
    <Empty title="There is no such app" action={<LinkButton text="All connected apps" to="/apps" />}>
      {id} was disconnected, or you may not see it.
    </Empty>
  );
}
