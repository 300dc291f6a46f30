import { text } from '../text.ts';

/** Shown where something is on its way. */
export function Waiting() {
  return <div class="waiting" role="status" aria-label={text.loading} />;
}

/** Grey lines in place of what is on its way. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" role="status" aria-label={text.loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton-line" />
      ))}
    </div>
  );
}
