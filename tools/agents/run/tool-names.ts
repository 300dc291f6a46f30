import { createHash } from 'node:crypto';

/** The tool names that providers accept. */
const FITS = /^[A-Za-z0-9_-]{1,64}$/;

/** The name under which a tool is offered to a model: its own, or a similar one that providers accept. */
export function offeredName(name: string): string {
  if (FITS.test(name)) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${digest}`;
}
