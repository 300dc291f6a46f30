import { hash } from 'node:crypto';
import {
  importedRows,
  type RowType,
  type SubscriptionRow,
  TIME_MEMBERS,
  type WebsiteRow,
} from '../../resources/imported-rows.ts';
import { partForm } from '../search-text.ts';
import { channelOf } from './channel.ts';

/** An imported row, checked by the schema of its type, with its times in UTC. */
export type ImportedRow = Readonly<Record<string, unknown>>;
/** The same as the tables hold it. What is absent is undefined, or null where it was read. */
export type TableRow = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Types whose rows replace the one with their key. The table of each has the name of the type. */
export const plainTypes = ['users', 'invoices', 'events', 'visits'] as const;
export type PlainType = (typeof plainTypes)[number];
/** Types of which each row is a statement about a time, each with its table. */
export const statedTables = { subscriptions: 'subscription_terms', websites: 'website_states' } as const;
export type StatedType = keyof typeof statedTables;

export const isStated = (type: RowType): type is StatedType => type in statedTables;

interface Member {
  readonly name: string;
  readonly column: string;
  readonly isTime: boolean;
}

const entries = Object.entries(importedRows) as [RowType, (typeof importedRows)[RowType]][]; // its own members
/** The members of the rows of each type, in the order of the schema, without the time of a statement. */
const members = Object.fromEntries(
  entries.map(([type, { schema }]) => [
    type,
    Object.keys(schema.shape)
      .filter((name) => name !== 'effectiveAt')
      .map((name): Member => ({ name, column: columnOf(name), isTime: TIME_MEMBERS.has(name) })),
  ]),
) as unknown as Readonly<Record<RowType, readonly Member[]>>; // one entry for each type

/** `createdAt` is `created_ms`, `visitorId` is `visitor_id`. */
function columnOf(name: string): string {
  const snake = (text: string) => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return TIME_MEMBERS.has(name) ? `${snake(name.replace(/At$/, ''))}_ms` : snake(name);
}

export function recordOf(type: RowType, row: ImportedRow): TableRow {
  const record: Record<string, string | number | boolean | undefined> = {};
  for (const { name, column, isTime } of members[type]) {
    const value = row[name];
    if (value === undefined) record[column] = undefined;
    else if (isTime) record[column] = Date.parse(String(value));
    else if (typeof value === 'object') record[column] = JSON.stringify(value);
    else record[column] = value as string | number | boolean; // by the schema of the type
  }
  if (type === 'users') record.searched = partForm([row.uid, row.email, row.name ?? ''].join('\n'));
  if (type === 'events' || type === 'visits') record.person = hashed(row.uid);
  if (type === 'visits') {
    record.visitor = hashed(row.visitorId);
    record.channel ??= channelOf(record.referrer as string | undefined); // a text by the schema of visits
    record.channel_given = row.channel !== undefined;
  }
  return record;
}

export function rowOf<Row extends object = ImportedRow>(type: RowType, record: TableRow): Row {
  const row: Record<string, unknown> = {};
  for (const { name, column, isTime } of members[type]) {
    const value = record[column];
    if (value === null || value === undefined || (name === 'channel' && !record.channel_given)) continue;
    if (isTime) row[name] = new Date(Number(value)).toISOString();
    else row[name] = name === 'properties' ? JSON.parse(String(value)) : value;
  }
  if (record.explicit) row.effectiveAt = new Date(Number(record.from_ms)).toISOString();
  return row as Row; // `recordOf` made the record of such a row
}

const hashed = (text: unknown) => (text === undefined ? undefined : hashOf(String(text)));

/** The time from which a statement counts that does not say so itself. */
export function countsFrom(type: StatedType, row: ImportedRow, importedMs: number, isFirst: boolean): number {
  // As nothing else is known, the first import of a subscription counts from its start.
  if (type === 'subscriptions') return isFirst ? Date.parse((row as SubscriptionRow).startedAt) : importedMs;
  const { state, publishedAt, createdAt } = row as WebsiteRow; // by the schema of its type
  if (state === 'published' && publishedAt !== undefined) return Date.parse(publishedAt);
  const known = isFirst && (state === 'draft' || state === 'published') && publishedAt === undefined;
  return known ? Date.parse(createdAt) : importedMs;
}

/** 63 bits of a hash as an integer that SQL can hold. No two texts in a store are expected to share it. */
export function hashOf(text: string): string {
  return (BigInt(`0x${hash('sha256', text).slice(0, 16)}`) >> 1n).toString();
}
