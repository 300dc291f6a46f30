import '@fontsource-variable/inter/wght.css';
import 'uplot/dist/uPlot.min.css';
import './style/index.css';
import './commons.ts';
import { type ComponentType, render } from 'preact';
import { Boundary } from './components/error-box.tsx';
import { Layout } from './components/layout.tsx';
import { ShownDialog } from './components/shown-dialog.tsx';
import { Toasts } from './components/toasts.tsx';
import { Unknown } from './components/unknown.tsx';
import { useIdentityQuestion } from './identity.ts';
import { lazy } from './lazy.tsx';
import { startLive } from './live.ts';
import { pageAt, pages } from './pages.ts';
import { followLinks, usePlace } from './router.ts';
import { useTitle } from './title.ts';
import { loadTools, useNames } from './tools.ts';

const drawn = new Map<string, ComponentType>(
  pages.map(({ path, load }) => [path, lazy(async () => (await load()).Page)]),
);

function Dashboard() {
  const { path } = usePlace();
  return (
    <>
      <Boundary>
        <Layout>
          <Boundary key={path.split('/')[1]}>
            <Current path={path} />
          </Boundary>
        </Layout>
      </Boundary>
      <Toasts />
      <ShownDialog />
      <IdentityQuestion />
    </>
  );
}

const ConfirmIdentity = lazy(async () => (await import('./components/confirm-identity.tsx')).ConfirmIdentity);

function IdentityQuestion() {
  const answer = useIdentityQuestion();
  return answer ? <ConfirmIdentity onAnswer={answer} /> : null;
}

function Current({ path }: { readonly path: string }) {
  const page = pageAt(path);
  const names = useNames();
  useTitle(page?.title ?? 'Unknown page');
  const Page = page && drawn.get(page.path);
  if (!Page) return <Unknown />;
  return page.needs !== undefined && !names.has(page.needs) ? <Unknown needs={page.needs} /> : <Page />;
}

// What the page needs is on its way before anything is drawn.
void loadTools();
void pageAt(location.pathname)?.load();
const app = document.getElementById('app');
if (app) {
  app.replaceChildren();
  render(<Dashboard />, app);
}
followLinks();
startLive();
