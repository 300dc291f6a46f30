import { z } from 'zod';
import { withFormHints } from './markers.ts';

const TIME_ZONE_FORM = /^[A-Za-z][A-Za-z0-9_+/-]*$/;
const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));
const CURRENCY_FORM = 'Not an ISO 4217 currency; write three capitals such as EUR.';
const MONTH_FORM = 'Write the month like 2026-03.';

/** An IANA time zone such as `Europe/Berlin`. It must be in the time zone data of the runtime. */
export const timezone = withFormHints(z.string().max(100), { control: 'timezone' })
  .refine(isTimezone, 'Not an IANA time zone; write it like Europe/Berlin or UTC.')
  .describe('IANA time zone, e.g. Europe/Berlin.');

export const currency = z
  .string()
  .length(3, { error: CURRENCY_FORM, abort: true })
  .refine((code) => CURRENCIES.has(code), CURRENCY_FORM)
  .describe('ISO 4217 code, e.g. EUR.');

export const month = z
  .string()
  .length(7, { error: MONTH_FORM, abort: true })
  .regex(/^\d{4}-(0[1-9]|1[0-2])$/, MONTH_FORM)
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
