import { useEffect } from 'preact/hooks';
import { boot } from './boot.ts';

/** The title of the window: what is open, then the workspace. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    if (title !== undefined) document.title = `${title} – ${boot.workspace}`;
  }, [title]);
}
