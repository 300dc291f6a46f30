import { useEffect, useRef, useState } from 'preact/hooks';
import { boot } from '../../boot.ts';
import { clockTime } from '../../format.ts';
import { isObjectSchema, type JsonSchema, withoutNull } from '../../schema.ts';
import { text } from '../../text.ts';
import { Button } from '../button.tsx';
import { isSecretMember, type Members } from './state.ts';

/** The unsaved changes of a form, in the session storage of this tab. */
interface Draft {
  readonly at: string;
  /** Of the record that it changes. */
  readonly revision?: Revision | undefined;
  readonly changed: Members;
  /** Members that were taken away. */
  readonly gone: readonly string[];
  /** Secrets were typed, which are kept nowhere. */
  readonly lacksSecrets: boolean;
}

/** That of a record. A form of some members has none of its own: there the members are compared, as text. */
type Revision = number | string;

export interface DraftPlace {
  /** Where it is kept: person, kind and record. */
  readonly place: string;
  /** Of the record that the form was begun on, and as it is now. */
  readonly revision?: Revision | undefined;
  readonly now?: Revision | undefined;
  /** Said of a draft that was begun on another revision. */
  readonly changed?: string;
  /** Told the revision that a draft which goes on was begun on. */
  readonly onTake?: (revision: Revision | undefined) => void;
}

interface Drafted {
  readonly offered: Draft | undefined;
  /** Goes on with it. */
  readonly take: () => void;
  /** Forgets it. */
  readonly drop: () => void;
  /** See `endDraft`. */
  readonly end: () => void;
}

const WAIT_MS = 300;

/** Who signs in after somebody else in one tab does not find theirs. Pages in hosts have no person, so this is asked only where there is a draft. */
const own = () => `draft ${boot.user.id} `;

/** Where the draft of a form is kept. */
export function draftPlace(form: string): string {
  return own() + form;
}

/** Keeps what is filled in as long as it is not saved, through other pages, reloads and signing in again. An earlier draft is offered first. */
export function useDraft(
  at: DraftPlace | undefined,
  schema: JsonSchema,
  before: Members,
  value: Members,
  onTake: (value: Members) => void,
): Drafted {
  const [offered, setOffered] = useState(() => (at ? read(at.place) : undefined));
  const keep = useRef(() => {});
  keep.current = () => {
    if (at && !offered && !isOver && !ended.has(at.place)) write(at, draftOf(schema, before, value));
  };
  useEffect(() => {
    const timer = setTimeout(() => keep.current(), WAIT_MS);
    return () => clearTimeout(timer);
  }, [value]);
  useEffect(() => {
    if (at) ended.delete(at.place);
    const leave = () => keep.current();
    addEventListener('pagehide', leave);
    return () => {
      removeEventListener('pagehide', leave);
      leave();
    };
  }, []);
  const drop = () => {
    if (at) sessionStorage.removeItem(at.place);
    setOffered(undefined);
  };
  const take = () => {
    if (!offered) return;
    const gone = new Set(offered.gone);
    const kept = Object.entries({ ...before, ...offered.changed }).filter(([name]) => !gone.has(name));
    setOffered(undefined);
    onTake(Object.fromEntries(kept));
    at?.onTake?.(offered.revision);
  };
  return { offered, take, drop, end: () => at && endDraft(at.place) };
}

/** Places whose forms were saved or given up: what is still drawn of them is kept no more. */
const ended = new Set<string>();

/** It was saved, or the person gave it up. */
export function endDraft(place: string): void {
  ended.add(place);
  sessionStorage.removeItem(place);
}

export function hasDraft(place: string): boolean {
  return sessionStorage.getItem(place) !== null;
}

/** Deletes all drafts when the person signs out. Forms on the page write no more of them. When a session expires, drafts stay. */
export function endAllDrafts(): void {
  isOver = true;
  for (const place of Object.keys(sessionStorage)) if (place.startsWith(own())) sessionStorage.removeItem(place);
}

let isOver = false;

function draftOf(schema: JsonSchema, before: Members, value: Members): Omit<Draft, 'at'> | undefined {
  const names = Object.keys(value).filter((name) => JSON.stringify(value[name]) !== JSON.stringify(before[name]));
  const changed = names.filter((name) => value[name] !== undefined).map((name) => [name, value[name]] as const);
  const gone = Object.keys(before).filter((name) => before[name] !== undefined && value[name] === undefined);
  if (changed.length + gone.length === 0) return undefined;
  const all = Object.fromEntries(changed);
  const open = withoutSecrets(all, schema) as Members; // an object stays one
  return { changed: open, gone, lacksSecrets: JSON.stringify(open) !== JSON.stringify(all) };
}

/** The value without members that may hold a secret, at any depth. */
function withoutSecrets(value: unknown, schema: JsonSchema | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, schema?.items));
  if (typeof value !== 'object' || value === null) return value;
  const options = schema ? withoutNull(schema).schema : {};
  const members = [options, ...(options.anyOf ?? [])].filter(isObjectSchema).map(({ properties }) => properties ?? {});
  const open = Object.entries(value).flatMap(([name, inner]) => {
    const schemas = members.flatMap((known) => known[name] ?? []);
    if ([{}, ...schemas].some((known) => isSecretMember(name, known))) return [];
    return [[name, withoutSecrets(inner, schemas[0])] as const];
  });
  return Object.fromEntries(open);
}

function write({ place, revision }: DraftPlace, draft: Omit<Draft, 'at'> | undefined): void {
  try {
    if (!draft) sessionStorage.removeItem(place);
    else sessionStorage.setItem(place, JSON.stringify({ ...draft, revision, at: new Date().toISOString() }));
  } catch {
    // more than the browser keeps: then it is not kept, as before
  }
}

function read(place: string): Draft | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(place) ?? 'null') as Draft | null) ?? undefined; // as `write` keeps it
  } catch {
    return undefined;
  }
}

type DraftNoteProps = Pick<Drafted, 'take' | 'drop'> & Readonly<{ offered: Draft; at: DraftPlace }>;

/** Offers the draft that was left here. */
export function DraftNote({ offered, at, take, drop }: DraftNoteProps) {
  const isOlder = offered.revision !== at.now;
  return (
    <section class="note draft-note" aria-label="Unsaved draft">
      <p>
        You have an unsaved draft from {clockTime(offered.at)}.
        {isOlder && ` ${at.changed ?? 'The record was changed since: before yours is saved, you see both.'}`}
        {offered.lacksSecrets && ' Secrets are not kept in drafts, so type them again.'}
      </p>
      <div class="actions">
        <Button text="Continue" look="primary" onClick={take} />
        <Button text={text.discard} onClick={drop} />
      </div>
    </section>
  );
}
