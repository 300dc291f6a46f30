import type { HostContext } from './host/host.ts';

/**
 * Takes on the look of the host. Its light or dark is its own, not that of the system. Variables that it gives for its colours and fonts are
 * used by `view.css`.
 */
export function wearTheme({ theme, styles }: HostContext): void {
  const { documentElement: root } = document;
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (/^--(color|font)-[\w-]+$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  }
  dispatchEvent(new Event('themechange'));
}
