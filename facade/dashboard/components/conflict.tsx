import { labelOf } from '../format.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ChangedValue } from './diff.tsx';
import type { Members } from './form/state.ts';

interface ConflictProps {
  /** What the person wants to change. */
  readonly mine: Members;
  /** The record as it is now. */
  readonly theirs: Members;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
  readonly onClose: () => void;
}

/** Somebody else changed the record meanwhile: shows both, member by member, and asks which one counts. */
export function ConflictDialog({ mine, theirs, onKeepMine, onTakeTheirs, onClose }: ConflictProps) {
  return (
    <Dialog title="Somebody else changed this meanwhile" onClose={onClose} size="l">
      <p>What you change, beside what the record says now.</p>
      <div class="diff">
        <div class="diff-head">
          <span>Now</span>
          <span>Yours</span>
        </div>
        {Object.entries(mine).map(([name, value]) => (
          <section key={name} class="diff-change" aria-label={labelOf(name)}>
            <h3>{labelOf(name)}</h3>
            <ChangedValue before={theirs[name]} after={value} />
          </section>
        ))}
      </div>
      <div class="actions end">
        <Button text="Discard my changes" onClick={onTakeTheirs} />
        <Button text="Overwrite with mine" look="primary" onClick={onKeepMine} />
      </div>
    </Dialog>
  );
}
