import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface InViewProps {
  readonly class: string;
  /** As high as it probably is, in pixels, until it was drawn once. */
  readonly height: number;
  /** Whether it is near the view as long as nothing has said where it is. */
  readonly isFirst: boolean;
  readonly onChange: (isNear: boolean) => void;
  readonly children: () => ComponentChildren;
}

/** Draws its children only while they are near the view. Otherwise it leaves as much room as they took. */
export function InView({ class: name, isFirst, onChange, children, ...guessed }: InViewProps) {
  const ref = useRef<HTMLDivElement>(null);
  const height = useRef(guessed.height);
  const [isNear, setNear] = useState(isFirst);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const observer = new IntersectionObserver(
      (changes) => {
        const isIn = changes.at(-1)?.isIntersecting === true;
        if (!isIn) height.current = element.getBoundingClientRect().height;
        setNear(isIn);
      },
      { rootMargin: '300px' },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    onChange(isNear);
    return () => onChange(false);
  }, [isNear]);
  return (
    <div ref={ref} class={name} style={isNear ? {} : { height: `${height.current}px` }}>
      {isNear && children()}
    </div>
  );
}
