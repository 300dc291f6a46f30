import { type Address, addresses } from '../../resources/addresses.ts';

/** What a URI names: a kind of record, and the input with which its read tool reads the one. */
export interface Named {
  readonly address: Address;
  readonly input: Readonly<Record<string, string>>;
}

const byScheme = new Map(addresses.map((address) => [schemeOf(address.uriTemplate), address]));

/** Undefined where no address has this form. Whether there is such a record is for the read tool to say. */
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

/** The URI of a record with these members. */
export function uriOf({ uriTemplate }: Address, members: Readonly<Record<string, unknown>>): string {
  return uriTemplate.replace(/\{(\w+)\}/g, (_, variable) => encodeURIComponent(String(members[variable])));
}

export function variablesOf({ uriTemplate }: Address): string[] {
  return Array.from(uriTemplate.matchAll(/\{(\w+)\}/g), ([, variable = '']) => variable);
}

/** Whether the address is one for many records. */
export function isTemplate(address: Address): boolean {
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
  // Half a surrogate pair is in no id and could not be written into a URI again.
  if (!segment.isWellFormed()) return undefined;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined; // a % that begins no UTF-8 character
  }
}
