import leven from 'leven';
import { type GuardedCatalog, isListed } from './guarded-tool.ts';

/** The candidates most similar to a name that is not among them. Candidates that differ in more than half of it, or wholly, are left out. */
export function nearest(name: string, candidates: readonly string[], count: number): string[] {
  if (name.length > 100) return [];
  const maxDistance = Math.max(2, Math.floor(name.length / 2));
  return candidates
    .map((candidate) => ({ candidate, distance: leven(name, candidate, { maxDistance: maxDistance + 1 }) }))
    .filter(({ candidate, distance }) => distance <= maxDistance && distance < Math.max(name.length, candidate.length))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ candidate }) => candidate);
}

/** Names for which similar ones are looked for: each is compared with every name of the catalog. */
const MOST_COMPARED = 20;

/** Finds listed tools with a name similar to an unknown one, at most a few. */
export function similarNames({ entries }: GuardedCatalog): (name: string) => readonly string[] {
  const names = entries.filter(({ tool }) => isListed(tool)).map(({ tool }) => tool.name);
  let compared = 0;
  return (name) => {
    compared += 1;
    return compared > MOST_COMPARED ? [] : nearest(name, names, 3);
  };
}
