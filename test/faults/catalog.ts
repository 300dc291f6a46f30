import { databaseFaults } from './database-faults.ts';
import { environmentFaults } from './environment-faults.ts';
import type { Fault } from './fault.ts';
import { processFaults } from './process-faults.ts';
import { wireFaults } from './wire-faults.ts';

/** Every kind of fault. */
export const faults: readonly Fault[] = [...processFaults, ...wireFaults, ...databaseFaults, ...environmentFaults];
