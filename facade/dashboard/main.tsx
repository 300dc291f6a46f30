import '@fontsource-variable/inter/wght.css';
import 'uplot/dist/uPlot.min.css';
import './style/index.css';
import './app.ts';
import './ui.ts';
import { render } from 'preact';
import { adoptPrefetched } from './answer-cache.ts';
import { boot } from './boot.ts';
import { LinkButton } from './components/button.tsx';
import { ShownDialog } from './components/dialog.tsx';
import { Boundary } from './components/error-box.tsx';
import { Empty, Mono } from './components/small.tsx';
import { Toasts } from './components/toasts.tsx';
import { Layout } from './frame/layout.tsx';
import { useIdentityQuestion } from './identity.ts';
import { type LazyComponent, lazy } from './lazy.tsx';
import { startLive } from './live-updates.ts';
import { pageAt, pages } from './pages.ts';
import { followLinks, useLocation } from './router.ts';
import { text } from './text.ts';
import { useTitle } from './title.ts';
import { loadToolsOnce, useNames } from './tools.ts';

const drawn = new Map<string, LazyComponent<object>>(
  pages.map(({ path, load }) => [path, lazy(async () => (await load()).Page)]),
);

function Dashboard() {
  const { path } = useLocation();
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

/** The list of tools is long, so it waits where the page can start with prefetched calls. */
const TOOLS_AFTER_MS = 1500;
const ANSWERS_WITHIN_MS = 300;
if (globalThis.begunCalls) setTimeout(loadToolsOnce, TOOLS_AFTER_MS);
else loadToolsOnce();

// The HTML of the server stays until the code of the page is loaded, and up to 300 ms for its first answers.
const first = drawn.get(pageAt(location.pathname.slice(boot.base.length) || '/')?.path ?? '');
const soon = new Promise((resolve) => setTimeout(resolve, ANSWERS_WITHIN_MS));
await Promise.all([
  first?.begin().catch(() => {}), // drawing it shows what failed
  Promise.race([adoptPrefetched(), soon]),
]);
const app = document.getElementById('app');
if (app) {
  app.replaceChildren();
  render(<Dashboard />, app);
}
followLinks();
startLive();

/** The page of an address that none belongs to, or that the person has no right to. */
export function Unknown({ needs }: { readonly needs?: string }) {
  return (
    <div class="page-body">
      <h1 class="visually-hidden">{needs ? 'No access' : text.notFound}</h1>
      <Empty
        title={needs ? 'You have no access to this page' : text.notFound}
        action={<LinkButton text="Home" to="/" />}
      >
        {needs ? (
          <>
            It needs the right to call <Mono>{needs}</Mono>. Ask an administrator of this workspace.
          </>
        ) : (
          text.notFoundHint
        )}
      </Empty>
    </div>
  );
}
