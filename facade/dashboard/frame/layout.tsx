import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { boot } from '../boot.ts';
import { Button } from '../components/button.tsx';
import { endAllDrafts } from '../components/form/draft.tsx';
import { Icon } from '../components/icon.tsx';
import { Avatar } from '../components/small.tsx';
import { ApprovalCount, ApprovalsLink } from '../components/waiting-approvals.tsx';
import { groups, type PageEntry, pageAt } from '../pages.ts';
import { at, useLocation } from '../router.ts';
import { text } from '../text.ts';
import { useNames } from '../tools.ts';
import { SearchPalette } from './search-palette.tsx';
import { setTheme, themeNow } from './theme.ts';

/** The frame of every page: navigation at the side, on a phone behind a button; search by one key. */
export function Layout({ children }: { readonly children: ComponentChildren }) {
  const { path } = useLocation();
  const [opened, setOpened] = useState(false);
  const [searches, setSearches] = useState(false);
  useSearchKey(() => setSearches(true));
  useEffect(() => setOpened(false), [path]);
  const page = pageAt(path);
  return (
    <div class={opened ? 'layout opened' : 'layout'}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <Button look="quiet" icon="menu" label="Navigation" onClick={() => setOpened(!opened)} />
        <span class="bar-title">{barTitle(page, path)}</span>
        <ApprovalsLink />
        <Button look="quiet" icon="search" label={text.search} onClick={() => setSearches(true)} />
      </header>
      <Side path={path} onSearch={() => setSearches(true)} />
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: beside the navigation's own button, for pointers */}
      {opened && <div class="veil" onClick={() => setOpened(false)} />}
      <div class="content">
        <main class="page" id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      {searches && <SearchPalette onClose={() => setSearches(false)} />}
    </div>
  );
}

/** Where we are, unless the heading of the page says that. */
function barTitle(page: PageEntry | undefined, path: string): string {
  const isHeading = page?.path === path && path !== '/analytics'; // its heading is the open metric
  return page && !isHeading ? page.title : boot.workspace;
}

/** `/` or Ctrl+K, except while something is typed or a dialog is open. */
function useSearchKey(open: () => void): void {
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const typing =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]');
      const isKey = (event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
      if (!isKey || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

function Side({ path, onSearch }: { readonly path: string; readonly onSearch: () => void }) {
  const names = useNames();
  const here = pageAt(path);
  const ref = useRef<HTMLElement>(null);
  useEffect(() => ref.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' }), [here, names]);
  return (
    <nav ref={ref} class="side" aria-label="Pages">
      <a class="brand" href={at('/')}>
        <span class="brand-mark">{[...boot.workspace][0]?.toUpperCase()}</span>
        <span class="brand-name">{boot.workspace}</span>
      </a>
      <button type="button" class="search-button" onClick={onSearch}>
        <Icon name="search" />
        <span>{text.search}</span>
        <kbd>/</kbd>
      </button>
      <div class="nav">
        {Object.entries(groups).map(([title, entries]) => (
          <Group
            key={title}
            title={title}
            entries={entries.filter(({ needs }) => !needs || names.has(needs))}
            here={here}
          />
        ))}
      </div>
      <Person />
    </nav>
  );
}

type GroupProps = Readonly<{ title: string; entries: readonly PageEntry[]; here: PageEntry | undefined }>;

/** A group with its pages, which the person may fold; where we are is never folded away. */
function Group({ title, entries, here }: GroupProps) {
  const [isFolded, setFolded] = useState(() => foldedGroups().includes(title));
  if (entries.length === 0) return null;
  const isOpen = title === 'Top' || !isFolded || entries.some((entry) => entry === here);
  const turn = () => {
    foldGroup(title, isOpen);
    setFolded(isOpen);
  };
  return (
    <div class="nav-group">
      {title !== 'Top' && (
        <h2>
          <button type="button" class="nav-title" aria-expanded={isOpen} onClick={turn}>
            {title}
            <Icon name={isOpen ? 'down' : 'next'} size={12} />
          </button>
        </h2>
      )}
      {isOpen &&
        entries.map((entry) => (
          <a key={entry.path} class="nav-link" href={at(entry.path)} aria-current={entry === here ? 'page' : undefined}>
            <Icon name={entry.icon} />
            {entry.title}
            {entry.path === '/approvals' && <ApprovalCount />}
          </a>
        ))}
    </div>
  );
}

const FOLDED = 'admin-folded';

/** As this browser remembers them. */
function foldedGroups(): readonly string[] {
  try {
    return localStorage.getItem(FOLDED)?.split(',') ?? [];
  } catch {
    return []; // the browser keeps nothing
  }
}

function foldGroup(title: string, isFolded: boolean): void {
  const others = foldedGroups().filter((one) => one !== title);
  try {
    localStorage.setItem(FOLDED, [...others, ...(isFolded ? [title] : [])].join(','));
  } catch {
    // It is folded until the page is left.
  }
}

function Person() {
  const { email, name, role } = boot.user;
  return (
    <div class="person">
      <button type="button" class="person-button" popovertarget="person-menu">
        <Avatar name={name ?? email} size="s" />
        <span class="person-name">{name ?? email}</span>
      </button>
      <div id="person-menu" popover="auto" class="menu person-menu">
        <p class="menu-note">
          <strong>{name ?? email}</strong>
          <span class="quiet">
            {email} · {role}
          </span>
        </p>
        <a class="menu-item" href={at('/account')}>
          My account
        </a>
        <a class="menu-item" href={at('/guides')} target="_blank" rel="noopener">
          Help
        </a>
        <ThemeChoice />
        <form method="post" action={at('/sign-out')} onSubmit={endAllDrafts}>
          <input type="hidden" name="form" value={boot.formToken} />
          <button type="submit" class="menu-item">
            {text.signOut}
          </button>
        </form>
      </div>
    </div>
  );
}

const THEMES = [
  { value: undefined, label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

function ThemeChoice() {
  const [theme, set] = useState(themeNow);
  return (
    <fieldset class="theme">
      <legend class="menu-label">Appearance</legend>
      {THEMES.map(({ value, label }) => (
        <label key={label} class="check">
          <input
            type="radio"
            name="theme"
            checked={theme === value}
            onChange={() => {
              setTheme(value);
              set(value);
            }}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
