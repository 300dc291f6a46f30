import { useState } from 'preact/hooks';
import { CallError } from '../client.ts';
import { ConflictDialog } from './conflict.tsx';
import type { Members } from './form/state.ts';

interface UseConflictOptions {
  /** Reads the record as it is now. */
  readonly read: () => Promise<Members | undefined>;
  /** Saves the person's change over the record as it was shown. */
  readonly save: (mine: Members, theirs: Members) => Promise<void>;
  readonly onTakeTheirs: (theirs: Members) => void;
}

/** Shows both states in a dialog where saving is refused because somebody else changed the record. */
export function useConflict({ read, save, onTakeTheirs }: UseConflictOptions) {
  const [conflict, setConflict] = useState<{ readonly mine: Members; readonly theirs: Members }>();
  const see = async (error: unknown, mine: Members) => {
    if (!(error instanceof CallError) || error.code !== 'conflict' || error.currentRevision === undefined) return;
    const theirs = await read();
    if (theirs) setConflict({ mine, theirs });
  };
  const onClose = () => setConflict(undefined);
  if (!conflict) return { see, dialog: undefined };
  const { mine, theirs } = conflict;
  const onKeepMine = () => {
    onClose();
    save(mine, theirs).catch((error) => see(error, mine));
  };
  const take = () => {
    onClose();
    onTakeTheirs(theirs);
  };
  return { see, dialog: <ConflictDialog {...conflict} {...{ onClose, onKeepMine }} onTakeTheirs={take} /> };
}
