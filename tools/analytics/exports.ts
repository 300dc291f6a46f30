/** What other groups use of the imported rows and of what is computed from them. */
export { type Day, lastDays } from './days.ts';
export { type ImportedModel, USER_PURGE } from './model/imported-model.ts';
export { websiteHistory } from './model/website-history.ts';
export { workspaceSettings } from './request.ts';
export { MICROS, Money, ratesOf, roundCents, unitsIn } from './revenue/money.ts';
