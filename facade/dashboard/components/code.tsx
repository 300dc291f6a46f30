import { useEffect, useRef, useState } from 'preact/hooks';
import { text } from '../text.ts';
import { Button } from './button.tsx';

type CopyButtonProps = Readonly<{ value: string; label?: string; words?: boolean }>;

/** Copies a text and says so for a moment. Where the browser refuses, the text beside the button is selected, and the person told. */
export function CopyButton({ value, label = text.copy, words = false }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const [refused, setRefused] = useState(false);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    const done = await navigator.clipboard?.writeText(value).then(
      () => true,
      () => false,
    );
    const shown = ref.current?.parentElement?.querySelector('code');
    if (!done && shown) getSelection()?.selectAllChildren(shown);
    setCopied(done === true);
    setRefused(done !== true);
  };
  const icon = copied ? 'check' : 'copy';
  const said = copied ? text.copied : label;
  return (
    <>
      {words ? (
        <Button text={said} icon={icon} onClick={copy} />
      ) : (
        <Button look="quiet" icon={icon} label={said} onClick={copy} />
      )}
      <span class={refused ? 'copy-refused' : 'visually-hidden'} role="status" ref={ref}>
        {copied ? text.copied : refused && text.selected}
      </span>
    </>
  );
}

/** A longer text as it is written, which can be scrolled and copied. */
export function Code({ value, label }: { readonly value: string; readonly label?: string }) {
  return (
    <div class="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls what is wider than its box */}
      <section class="code-scroll" tabIndex={0} aria-label={label ?? 'Code'}>
        <pre>
          <code>{value}</code>
        </pre>
      </section>
      <CopyButton value={value} />
    </div>
  );
}

export function Json({ value, label = 'JSON' }: { readonly value: unknown; readonly label?: string }) {
  return <Code value={JSON.stringify(value, null, 2)} label={label} />;
}
