import { useEffect, useState } from 'preact/hooks';

const TYPING_MS = 200;

/** What is typed, once it has not changed for a moment, so that not every letter is a call. Nothing typed is known at once. */
export function useSettled(typed: string): string {
  const [settled, settle] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => settle(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return typed === '' ? typed : settled;
}
