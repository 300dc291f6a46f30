import { type ComponentType, h } from 'preact';
import { useState } from 'preact/hooks';
import { Waiting } from './components/waiting.tsx';

/** A component whose code is loaded when it is first shown. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;

  function Lazy(props: Props) {
    const [, draw] = useState({});
    const [failure, setFailure] = useState<unknown>();
    if (failure !== undefined) throw failure;
    if (loaded) return h(loaded, props);
    loading ??= load().then((component) => {
      loaded = component;
    });
    loading.then(() => draw({}), setFailure);
    return h(Waiting, {});
  }
  return Lazy;
}
