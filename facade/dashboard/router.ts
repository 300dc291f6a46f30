import { boot } from './boot.ts';
import { createSignal } from './signal.ts';

/** Where we are: the segments of the path, and what the address says of the state of the page. */
export type PageLocation = Readonly<{ path: string; parts: readonly string[]; query: URLSearchParams }>;

function placeNow(): PageLocation {
  const path = location.pathname.slice(boot.base.length) || '/';
  const parts = path.split('/').filter((part) => part !== '');
  return { path, parts: parts.map(decoded), query: new URLSearchParams(location.search) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const place = createSignal(placeNow());
const tell = () => place.set(placeNow());
addEventListener('popstate', tell);

export const useLocation = place.use;

/** An address of the dashboard as browsers see it. */
export function at(path: string): string {
  return `${boot.base}${path}`;
}

/** Goes to a path of the dashboard. */
export function go(path: string, { replace = false } = {}): void {
  history[replace ? 'replaceState' : 'pushState'](null, '', at(path));
  tell();
}

/** Keeps the state of a page in its address: filters, sorting, the open tab. Undefined and '' remove a name. With `replace: false`, Back leads to the state before. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>, { replace = true } = {}): void {
  const { path, query } = placeNow();
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const search = query.toString();
  go(`${path}${search && `?${search}`}`, { replace });
}

/** Links within the dashboard load no new page. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
    const path = link.pathname.slice(boot.base.length);
    if (/^\/(api|assets|oauth|sign-in)(\/|$)/.test(path)) return;
    event.preventDefault();
    go(`${path}${link.search}`);
    scrollTo(0, 0);
  });
}
