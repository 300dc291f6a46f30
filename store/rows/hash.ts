import { hash } from 'node:crypto';

/** 63 bits of a hash as an integer that SQL can hold. No two texts in a store are expected to share it. */
export function hashOf(text: string): string {
  return (BigInt(`0x${hash('sha256', text).slice(0, 16)}`) >> 1n).toString();
}
