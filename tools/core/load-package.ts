import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** More than the import of the largest package has open at a time. */
const RESERVED = 64;

const loaded = new Map<string, Promise<unknown>>();
let reserved: number[] = [];
let isReserving = false;

/**
 * Keeps descriptors for imports that come later. Node.js keeps an import that failed for good: one without a descriptor left would take
 * chats or sign-in away until the process is started again.
 */
export function reserveDescriptors(): void {
  isReserving = true;
  try {
    while (reserved.length < RESERVED) reserved.push(openSync(devNull, 'r'));
  } catch {
    // there are so few that none can be kept
  }
}

/** A package that is large and seldom needed, from `load`, which imports it. */
export async function loadPackage<Package>(name: string, load: () => Promise<Package>): Promise<Package> {
  const known = loaded.get(name) ?? loadWithReserve(load);
  loaded.set(name, known);
  return known as Promise<Package>; // what was kept of the same name
}

async function loadWithReserve<Package>(load: () => Promise<Package>): Promise<Package> {
  for (const file of reserved) closeSync(file);
  reserved = [];
  try {
    return await load();
  } finally {
    if (isReserving) reserveDescriptors();
  }
}
