import { notify } from './bridge.ts';

/** Keeps telling the host how high the page is. */
export function tellSize(): void {
  let told = 0;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    notify('ui/notifications/size-changed', { height });
  };
  new ResizeObserver(tell).observe(document.body);
  tell();
}
