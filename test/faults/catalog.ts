import type { Fault } from './fault.ts';
import { processFaults } from './process-faults.ts';

/** Every kind of fault. */
export const faults: readonly Fault[] = [...processFaults];
