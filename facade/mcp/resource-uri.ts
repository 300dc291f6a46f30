import { type Address, addresses } from './addresses.ts';

interface Named {
  readonly address: Address;
  readonly input: Readonly<Record<string, string>>;
}

const byScheme = new Map(addresses.map((address) => [schemeOf(address.uriTemplate), address]));

/** Undefined if no address has this form. Whether the record exists is for the read tool to find out. */
export function parseUri(uri: string): Named | undefined {
  const address = byScheme.get(schemeOf(uri));
  if (!address) return undefined;
  const wanted = segmentsOf(address.uriTemplate);
  const given = segmentsOf(uri);
  if (wanted.length !== given.length) return undefined;
  const input: [string, string][] = [];
  for (const [index, segment] of wanted.entries()) {
    const text = decoded(given[index] ?? '');
    const variable = variableIn(segment);
    if (!text || (!variable && text !== segment)) return undefined;
    if (variable) input.push([variable, text]);
  }
  return { address, input: Object.fromEntries(input) };
}

export function uriOf({ uriTemplate }: Address, members: Readonly<Record<string, unknown>>): string {
  return uriTemplate.replace(/\{(\w+)\}/g, (_, variable) => encodeURIComponent(String(members[variable])));
}

/** `agent://`, or `database-record://<databaseId>/`, as `collectionsOf` writes them. Undefined if the URI stands for no collection. */
export function canonicalCollection(uri: string): string | undefined {
  const address = byScheme.get(schemeOf(uri));
  if (!address || !hasVariables(address) || !uri.endsWith('/')) return undefined;
  const given = segmentsOf(uri)
    .slice(0, -1)
    .map((segment) => decoded(segment) ?? '');
  if (given.includes('') || given.length >= segmentsOf(address.uriTemplate).length) return undefined;
  return `${schemeOf(uri)}://${given.map((segment) => `${encodeURIComponent(segment)}/`).join('')}`;
}

/** What stands for all records of its kind and, where that is more, of its owner. */
export function collectionsOf(uri: string): string[] {
  const start = uri.indexOf('://') + 3;
  return Array.from(uri.matchAll(/\//g), ({ index }) => uri.slice(0, index + 1)).filter(
    ({ length }) => length >= start,
  );
}

export function variablesOf({ uriTemplate }: Address): string[] {
  return Array.from(uriTemplate.matchAll(/\{(\w+)\}/g), ([, variable = '']) => variable);
}

export function hasVariables(address: Address): boolean {
  return variablesOf(address).length > 0;
}

function schemeOf(uri: string): string {
  return uri.slice(0, Math.max(0, uri.indexOf('://')));
}

function segmentsOf(uri: string): string[] {
  return uri.slice(uri.indexOf('://') + 3).split('/');
}

function variableIn(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1];
}

function decoded(segment: string): string | undefined {
  // Half of a surrogate pair is in no id and cannot be written into a URI.
  if (!segment.isWellFormed()) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // a % that begins no UTF-8 character
  }
}
