import { lazy } from '../lazy.tsx';

/** A text that people or models wrote with the marks of Markdown. What reads them is loaded with the first such text. */
export const Prose = lazy(async () => (await import('./markdown.tsx')).Markdown);
