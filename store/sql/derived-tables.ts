import { customerChanges } from './derived/customer-changes.ts';
import { sessions } from './derived/sessions.ts';
import { subscriptionSteps } from './derived/subscription-steps.ts';
import { websiteSteps } from './derived/website-steps.ts';
import type { DerivedTable } from './derived-table.ts';

/** In this order; a table may read those before it. */
export const derivedTables: readonly DerivedTable[] = [subscriptionSteps, customerChanges, websiteSteps, sessions];
