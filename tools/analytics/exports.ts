/** What other groups use of the imported rows and of what is computed from them. */
export { addDays, addIntervals, dateIn, floorTo, type Period, periodsOf, startOf } from './calendar.ts';
export { type Day, lastDays } from './days.ts';
export { workspaceSettings } from './request.ts';
export { MICROS, Money, ratesOf } from './revenue/money.ts';
