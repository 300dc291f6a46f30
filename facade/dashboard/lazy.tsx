import { type ComponentType, h } from 'preact';
import { useState } from 'preact/hooks';
import { Waiting } from './components/small.tsx';

export type LazyComponent<Props> = ComponentType<Props> & {
  /** Loads its code before it is shown. */
  begin(): Promise<void>;
};

/** A component whose code is loaded when it is first shown, if it was not begun before. */
export function lazy<Props extends object>(load: () => Promise<ComponentType<Props>>): LazyComponent<Props> {
  let loaded: ComponentType<Props> | undefined;
  let loading: Promise<void> | undefined;
  const begin = () => {
    loading ??= load().then((component) => {
      loaded = component;
    });
    return loading;
  };

  function Lazy(props: Props) {
    const [, draw] = useState({});
    const [failure, setFailure] = useState<unknown>();
    if (failure !== undefined) throw failure;
    if (loaded) return h(loaded, props);
    begin().then(() => draw({}), setFailure);
    return h(Waiting, {});
  }
  return Object.assign(Lazy, { begin });
}
