/** What other groups use of the imported rows and of what is computed from them. */
export { type Day, lastDays } from './days.ts';
export { workspaceSettings } from './request.ts';
export { MICROS, Money, ratesOf, roundCents, unitsIn } from './revenue/money.ts';
