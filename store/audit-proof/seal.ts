import { hash, randomFillSync } from 'node:crypto';
import { type AuditEntry, isIdText } from '../../resources/audit-entry.ts';

/** An entry as it is stored: with its seal, and the salt of the content that can be withdrawn. */
export type SealedEntry = AuditEntry & { readonly proof?: string; readonly salt?: string };

interface SealPlace {
  /** The chain of one run of one process. */
  readonly chain: string;
  /** A span of the chain has a key and a head of its own. */
  readonly span: number;
  /** From 1 on in the span. */
  readonly number: number;
  /** The beginning of the hash of the entry before in the chain. */
  readonly before: string;
}

export interface Seal extends SealPlace {
  readonly hash: string;
  /** The hash of the content, where the entry had one. It stays when the content is withdrawn. */
  readonly content: string | undefined;
}

export const SHORT = 22;
export const FIRST = '-'.repeat(SHORT);

const FORM = /^([0-9a-z]{12})\.(\d+)\.(\d+)\.([\w-]{22})\.([\w-]{43})(?:\.([\w-]{43}))?$/;

export function parseSeal(text: string): Seal | undefined {
  const [, chain = '', span, number, before = '', own = '', content] = FORM.exec(text) ?? [];
  if (own === '') return undefined;
  return { chain, span: Number(span), number: Number(number), before, hash: own, content };
}

/** What is added to an entry, and its hash. */
export interface NewSeal {
  readonly hash: string;
  readonly proof: string;
  readonly salt: string | undefined;
}

export function sealOf(entry: AuditEntry, place: SealPlace, key: string): NewSeal {
  const text = contentOf(entry.arguments);
  const salt = text === undefined ? undefined : newSalt();
  const content = salt === undefined ? undefined : contentHash(salt, text);
  const own = entryHash(entry, place, content, key);
  const { chain, span, number, before } = place;
  const proof = `${chain}.${span}.${number}.${before}.${own}${content === undefined ? '' : `.${content}`}`;
  return { hash: own, proof, salt };
}

export function withSeal(entry: AuditEntry, { proof, salt }: NewSeal): SealedEntry {
  return salt === undefined ? { ...entry, proof } : { ...entry, salt, proof };
}

/** The same as text. Writing out the object takes three times as long. */
export function sealedJson(entry: AuditEntry, { proof, salt }: NewSeal): string {
  const salted = salt === undefined ? '' : `"salt":"${salt}",`;
  return `${JSON.stringify(entry).slice(0, -1)},${salted}"proof":"${proof}"}`;
}

/** The key stands at both ends, so that nothing can be appended to what was hashed. */
export function entryHash(entry: AuditEntry, place: SealPlace, content: string | undefined, key: string): string {
  return hash('sha256', `${key}\n${coveredText(entry, place, content)}\n${key}`, 'base64url');
}

/**
 * All but the content, in one order whatever that of the members is: PostgreSQL changes it where it withdraws content. Each part says where
 * it ends, so that no two entries have the same text.
 */
function coveredText(entry: AuditEntry, { chain, span, number, before }: SealPlace, content = ''): string {
  const { principal, onBehalfOf, recordIds, sessionId = '', code = '' } = entry;
  const others = onBehalfOf?.map(({ type, id, name }) => [type, id, name]);
  return (
    `${chain}.${span}.${number}.${before}.${content}\n` +
    part(entry.at) +
    part(entry.id) +
    part(entry.requestId) +
    part(entry.door) +
    part(principal.type) +
    part(principal.id) +
    part(principal.name) +
    part(sessionId) +
    part(entry.tool) +
    part(entry.outcome) +
    part(code) +
    `${entry.durationMs}\n${idsIn(entry.arguments)}\n` +
    `${others ? JSON.stringify(others) : ''}\n${recordIds ? JSON.stringify(recordIds) : ''}`
  );
}

function part(text: string): string {
  return `${text.length} ${text}\n`;
}

/** The ids in the arguments, which stay when the content is withdrawn. */
function idsIn(args: AuditEntry['arguments']): string {
  let text = '';
  for (const name of Object.keys(args).sort()) if (isIdText(args[name])) text += part(name) + part(String(args[name]));
  return text;
}

/** What can be withdrawn of the arguments, as text. */
export function contentOf(args: AuditEntry['arguments']): string | undefined {
  const names = Object.keys(args);
  if (names.every((name) => isIdText(args[name]) || args[name] === undefined)) return undefined;
  return JSON.stringify(names.some((name) => isIdText(args[name])) ? withoutIds(args) : args);
}

function withoutIds(args: AuditEntry['arguments']): object {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => !isIdText(value)));
}

/** Without the salt, short content could be guessed from its hash after it was withdrawn. */
export function contentHash(salt: string, content: string | undefined): string {
  return hash('sha256', `${salt}\n${content}`, 'base64url');
}

const pool = Buffer.alloc(16 * 256);
let used = pool.length;

function newSalt(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 16;
  return pool.toString('base64url', used - 16, used);
}

const MEMBERS = new Set([
  ...['at', 'id', 'requestId', 'door', 'principal', 'sessionId', 'onBehalfOf', 'tool', 'arguments', 'recordIds'],
  ...['outcome', 'code', 'durationMs', 'salt', 'proof'],
]);

/** Whether it has members that its hash does not cover. */
export function hasOtherMembers(entry: SealedEntry): boolean {
  const refs = [entry.principal, ...(entry.onBehalfOf ?? [])];
  return Object.keys(entry).some((name) => !MEMBERS.has(name)) || refs.some((ref) => Object.keys(ref).length !== 3);
}

export function withoutSeal(entry: SealedEntry): AuditEntry {
  if (entry.proof === undefined) return entry;
  const { proof: _, salt: __, ...rest } = entry;
  return rest;
}
