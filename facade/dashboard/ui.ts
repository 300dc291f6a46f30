/** The parts that nearly every page is drawn with. See `app.ts`. */
export * from './components/action.tsx';
export * from './components/button.tsx';
export * from './components/code.tsx';
export * from './components/dialog.tsx';
export * from './components/error-box.tsx';
export * from './components/icon.tsx';
export * from './components/menu.tsx';
export * from './components/page.tsx';
export * from './components/small.tsx';
export * from './components/table.tsx';
export * from './components/tabs.tsx';
export * from './components/toasts.tsx';
export * from './components/value.tsx';
