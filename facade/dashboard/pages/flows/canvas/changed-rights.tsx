import type { Flow } from '../../../../../resources/flow.ts';
import { boot } from '../../../boot.ts';
import type { Row } from '../../../kind/spec.ts';

/** Says whose rights the runs no longer have once this person changes what the flow does. */
export function ChangedRights({ flow }: { readonly flow: Row }) {
  const { runAs } = flow as Partial<Pick<Flow, 'runAs'>>; // as the schema of a flow says
  if (!runAs || (runAs.type === 'session' && runAs.id === boot.user.id)) return null;
  return (
    <p class="note warn">
      Once you change what the flow does, all its runs have your rights, no longer those of {runAs.name}, and only you
      and admins see what they did.
    </p>
  );
}
