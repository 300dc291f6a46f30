/**
 * What nearly every page is made of, in one import. Pages share it as one file: esbuild otherwise makes a file of its own for each set of pages
 * that share something, and a browser would load a dozen of them first.
 */
export * from './boot.ts';
export * from './client.ts';
export * from './components/button.tsx';
export * from './components/code.tsx';
export * from './components/dialog.tsx';
export * from './components/error-box.tsx';
export * from './components/icon.tsx';
export * from './components/menu.tsx';
export * from './components/shown-dialog.tsx';
export * from './components/small.tsx';
export * from './components/table.tsx';
export * from './components/tabs.tsx';
export * from './components/toasts.tsx';
export * from './components/value.tsx';
export * from './components/waiting.tsx';
export * from './format.ts';
export * from './pages-of.ts';
export * from './refs.ts';
export * from './router.ts';
export * from './store.ts';
export * from './text.ts';
export * from './title.ts';
export * from './tools.ts';
