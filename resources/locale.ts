import { z } from 'zod';
import { withFormHints } from './markers.ts';

const TIME_ZONE_FORM = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));

/** An IANA time zone such as `Europe/Berlin`. It must be in the time zone data of the runtime. */
export const timezone = withFormHints(z.string().max(100), { control: 'timezone' })
  .refine(isTimezone, 'Not an IANA time zone; write it like Europe/Berlin or UTC.')
  .describe('IANA time zone, e.g. Europe/Berlin.');

export const currency = z
  .string()
  .refine((code) => CURRENCIES.has(code), 'Not an ISO 4217 currency; write three capitals such as EUR.')
  .describe('ISO 4217 code, e.g. EUR.');

export const month = z
  .string()
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'Write the month like 2026-03.')
  .describe('Like 2026-03.');

function isTimezone(name: string): boolean {
  if (!TIME_ZONE_FORM.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
