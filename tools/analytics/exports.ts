/** What other groups use of the imported rows and of what is computed from them. */
export { addDays, addIntervals, dateIn, floorTo, lastDays, type Period, periodsOf, startOf } from './calendar.ts';
export { MICROS, Money, ratesOf } from './revenue/money.ts';
