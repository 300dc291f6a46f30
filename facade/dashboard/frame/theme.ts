export type Theme = 'light' | 'dark' | undefined;

const YEAR_SECONDS = 365 * 24 * 60 * 60;

export function themeNow(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === 'light' || theme === 'dark' ? theme : undefined;
}

/** Kept in a cookie, so that the server's first page already has it. Undefined: as the system. */
export function setTheme(theme: Theme): void {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  // biome-ignore lint/suspicious/noDocumentCookie: the server reads it when it makes the page
  document.cookie = `admin-theme=${theme ?? ''}; path=/; max-age=${theme ? YEAR_SECONDS : 0}; samesite=lax`;
  dispatchEvent(new Event('themechange'));
}
