import { useEffect, useState } from 'preact/hooks';
import { text } from '../text.ts';
import { Button } from './button.tsx';

/** Copies a text and says so for a moment. */
export function CopyButton({
  value,
  label = text.copy,
  words = false,
}: {
  readonly value: string;
  readonly label?: string;
  readonly words?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    setCopied(true);
  };
  const icon = copied ? 'check' : 'copy';
  const said = copied ? text.copied : label;
  return (
    <>
      {words ? (
        <Button icon={icon} onClick={copy}>
          {said}
        </Button>
      ) : (
        <Button look="quiet" icon={icon} label={said} onClick={copy} />
      )}
      <span class="only-heard" role="status">
        {copied && text.copied}
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

/** Lines to paste somewhere else, with a sentence that says where. */
export function Snippet({ title, value }: { readonly title: string; readonly value: string }) {
  return (
    <figure class="snippet">
      <figcaption>{title}</figcaption>
      <Code value={value} label={title} />
    </figure>
  );
}

export function Json({ value, label = 'JSON' }: { readonly value: unknown; readonly label?: string }) {
  return <Code value={JSON.stringify(value, null, 2)} label={label} />;
}
