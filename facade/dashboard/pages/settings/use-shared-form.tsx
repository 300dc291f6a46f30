import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act, CallError, call, invalidate } from '../../app.ts';
import { type DraftPlace, draftPlace, endDraft, hasDraft } from '../../components/form/draft.tsx';
import type { Members } from '../../components/form/state.ts';
import { useConflict } from '../../components/use-conflict.tsx';
import { toast } from '../../ui.ts';

interface SharedFormOptions {
  /** Tells the form from others of the page. */
  readonly form: string;
  readonly tools: Readonly<{ get: string; update: string }>;
  /** The record as it is now, and the members that the form changes. */
  readonly record: Members;
  readonly members: readonly string[];
  /** What counts where the record says nothing. */
  readonly defaults?: Members;
  /** What is said once it is saved. */
  readonly saved: string;
}

export interface SharedForm {
  /** Of the form, which begins again with another one. */
  readonly key: number;
  /** What the form begins with. */
  readonly shown: Members;
  readonly draft: DraftPlace;
  /** Saves members that differ. @throws CallError (conflict) where somebody else changed one of them since */
  readonly save: (mine: Members) => Promise<void>;
  /** Told what saving threw. */
  readonly see: (error: unknown, mine: Members) => Promise<void>;
  readonly dialog: ComponentChildren;
  /** Says that somebody else changed the members while the form was being filled in. */
  readonly notice: ComponentChildren;
}

/**
 * A form of a record that other people and other forms change too. It follows the record until something is typed. After that, changes of
 * others are compared member by member, because the forms share one revision.
 */
export function useSharedForm(options: SharedFormOptions): SharedForm {
  const { form, members, defaults } = options;
  const now = picked({ ...defaults, ...options.record }, members);
  const [{ key, shown, base }, set] = useState({ key: 0, shown: now, base: now });
  const place = draftPlace(form);
  const begin = (record: Members) => {
    const next = picked({ ...defaults, ...record }, members);
    set((last) => ({ key: last.key + 1, shown: next, base: next }));
  };
  useEffect(() => {
    if (!isSame(now, shown) && !hasDraft(place)) begin(now);
  }, [JSON.stringify(now)]);
  // A draft that was left is compared with the record of now.
  useEffect(() => {
    if (hasDraft(place)) invalidate((tool) => tool === options.tools.get);
  }, []);
  const onTake = (kept: DraftPlace['revision']) => {
    if (typeof kept === 'string') set((last) => ({ ...last, base: JSON.parse(kept) as Members })); // as it is given below
  };
  return {
    ...{ key, shown },
    ...useSaving(options, base, (record) => {
      endDraft(place);
      begin(record);
    }),
    draft: { place, revision: JSON.stringify(base), now: JSON.stringify(now), changed: CHANGED, onTake },
    notice: !isSame(now, base) && hasDraft(place) && (
      <p class="note warn" role="status">
        {CHANGED}
      </p>
    ),
  };
}

/** Saves over the record as it is now, unless that differs from the base in a member that is saved. */
function useSaving({ tools, defaults, saved }: SharedFormOptions, base: Members, onEnd: (record: Members) => void) {
  const read = async (): Promise<Members> => ({ ...defaults, ...(await call<Members>(tools.get)) });
  const write = async (mine: Members, { revision }: Members) => {
    onEnd(await act<Members>(tools.update, { ...mine, expectedRevision: revision }));
    toast(saved);
  };
  const save = async (mine: Members) => {
    const theirs = await read();
    const isTouched = Object.keys(mine).some((name) => !isSame(theirs[name], base[name]));
    if (isTouched) throw changedMeanwhile(tools.update, theirs);
    await write(mine, theirs);
  };
  return { save, ...useConflict({ read, save: write, onTakeTheirs: onEnd }) };
}

const CHANGED =
  'The settings here were changed since. Where both changed the same, you see both before yours are saved.';

function changedMeanwhile(tool: string, { revision }: Members): CallError {
  const error = 'Somebody else changed the same meanwhile.';
  return new CallError(tool, { error, code: 'conflict', currentRevision: Number(revision) });
}

function picked(record: Members, members: readonly string[]): Members {
  return Object.fromEntries(members.filter((name) => record[name] !== undefined).map((name) => [name, record[name]]));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
