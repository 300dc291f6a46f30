import type { Table } from './tables.ts';

/** What is kept of each visit. */
export const visitColumns = {
  time: 'float',
  position: 'float',
  visitor: 'int',
  /** 1 + the number of the user, 0 where the row names none. */
  uid: 'int',
  channel: 'int',
  country: 'int',
  device: 'int',
  browser: 'int',
  os: 'int',
  /** The number of the session. `Sessions` sets it. */
  session: 'int',
} as const;

/** What is kept of each session. `first` is the row with which a session began. Its channel, country and so on are those of the session. */
export const sessionColumns = { first: 'int', start: 'float', end: 'float', pages: 'int', bounced: 'int' } as const;

export type VisitRows = Table<typeof visitColumns>;
export type SessionRows = Table<typeof sessionColumns>;
