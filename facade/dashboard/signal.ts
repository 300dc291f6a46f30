import { useLayoutEffect, useState } from 'preact/hooks';

interface Signal<Value> {
  get(): Value;
  set(value: Value): void;
  /** Within a component, which is drawn again with each new value. */
  use(): Value;
}

/** A value that lives outside of components. */
export function createSignal<Value>(initial: Value): Signal<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const listener of listeners) listener();
    },
    use() {
      const [, draw] = useState({});
      const drawn = value;
      useLayoutEffect(() => {
        const listener = () => draw({});
        listeners.add(listener);
        if (value !== drawn) listener(); // it changed while the component was drawn
        return () => {
          listeners.delete(listener);
        };
      }, []);
      return value;
    },
  };
}
