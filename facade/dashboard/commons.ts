/**
 * What nearly every page is made of. The build adds an import of it to every page, so that all of it comes as one file: esbuild otherwise
 * makes a file of its own for each set of pages that share something, and a browser would load a dozen of them first.
 */
import './components/button.tsx';
import './components/error-box.tsx';
import './components/icon.tsx';
import './components/menu.tsx';
import './components/modal.ts';
import './components/shown-dialog.tsx';
import './components/small.tsx';
import './components/table.tsx';
import './components/tabs.tsx';
import './components/toasts.tsx';
import './components/waiting.tsx';
import './format.ts';
import './lazy.tsx';
import './live.ts';
import './pages-of.ts';
import './refs.ts';
import './title.ts';
