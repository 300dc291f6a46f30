import { useEffect } from 'preact/hooks';
import { invalidate, useAnswer } from '../../answer-cache.ts';
import { Icon } from '../icon.tsx';

const LOOK_EVERY_MS = 2000;

interface FirstUseProps<Output> {
  /** The reading call that tells whether a client has come, which is asked again and again. */
  readonly tool: string;
  readonly input: object;
  readonly isUsed: (answer: Output) => boolean;
  readonly waits: string;
}

/** Shows when a client first came, as proof that the connection works. */
export function FirstUse<Output>({ tool, input, isUsed, waits }: FirstUseProps<Output>) {
  const { data } = useAnswer<Output>(tool, input);
  const came = data !== undefined && isUsed(data);
  const asked = JSON.stringify(input);
  useEffect(() => {
    if (came) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible')
        invalidate((name, of) => name === tool && JSON.stringify(of) === asked);
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [came, tool, asked]);
  return (
    <p class={came ? 'note good first-use' : 'note first-use'} role="status">
      {came ? <Icon name="check" /> : <span class="spinner" />}
      {came ? 'It works: a client has connected.' : waits}
    </p>
  );
}
