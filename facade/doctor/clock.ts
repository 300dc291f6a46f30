import { type Finding, fail, ok } from './finding.ts';

/** Sign-ins and signatures allow for a minute. */
const MOST_MS = 60_000;

/** Compares this clock with that of somebody else, read just now. */
export function clockFinding(whose: string, theirs: Date): Finding {
  const apart = Math.abs(Date.now() - theirs.getTime());
  const text = `This clock and that of ${whose} are ${Math.round(apart / 1000)} s apart`;
  return apart > MOST_MS ? fail('clock', `${text}: set it by NTP, or sign-ins fail.`) : ok('clock', `${text}.`);
}
