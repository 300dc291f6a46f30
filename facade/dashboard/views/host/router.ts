import { useLayoutEffect, useState } from 'preact/hooks';
import { boot } from '../../boot.ts';
import type * as real from '../../router.ts';
import { openLink } from './host.ts';

/** The page has no address: its state is kept here, and paths of the dashboard are opened by the host. */
let place: real.PageLocation = { path: '/', parts: [], query: new URLSearchParams() };
const listeners = new Set<() => void>();

/** Which paths of the dashboard are shown in the page itself. */
let isHere: (path: string) => boolean = (path) => path.split('?')[0] === place.path;

/** From now on these paths are shown in the page. */
export function showHere(test: (path: string) => boolean): void {
  isHere = test;
}

/** Begins with the state that belongs to what is shown. `path`: where the dashboard shows the same. */
export function beginAt(path: string, query: Readonly<Record<string, string | undefined>> = {}): URLSearchParams {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  place = { path, parts: path.split('/').filter((part) => part !== ''), query: new URLSearchParams(given) };
  return place.query;
}

function move(query: URLSearchParams): void {
  place = { ...place, query };
  for (const listener of listeners) listener();
}

export const usePlace: typeof real.usePlace = () => {
  const [shown, setShown] = useState(place);
  useLayoutEffect(() => {
    const listener = () => setShown(place);
    listeners.add(listener);
    listener();
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return shown;
};

export const at: typeof real.at = (path) => `${boot.base}${path}`;

export const go: typeof real.go = (path) => {
  if (isHere(path)) move(new URLSearchParams(path.split('?')[1]));
  else openLink(at(path));
};

export const setQuery: typeof real.setQuery = (changes) => {
  const query = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  move(query);
};

/** Links lead to the dashboard alone, whatever the texts of records say. */
export const followLinks: typeof real.followLinks = () => {
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || event.defaultPrevented) return;
    event.preventDefault();
    const href = link.getAttribute('href') ?? '';
    if (href.startsWith(`${boot.base}/`)) go(href.slice(boot.base.length));
  });
};
