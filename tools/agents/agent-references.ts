import type { Agent } from '../../resources/agent.ts';
import type { Readers } from '../../store/port.ts';
import type { Principal } from '../core/access/principal.ts';
import { isHiddenByLimit } from '../core/access/reach.ts';
import { requireNoIssues } from '../core/errors.ts';
import type { Fail } from '../core/registry/define-tool.ts';
import { missingRecord, type ReferenceCaller } from '../core/registry/references.ts';

export async function requireSkills(
  { store, principal }: { readonly store: Pick<Readers, 'skills'>; readonly principal: Principal },
  skillIds: readonly string[] | null | undefined,
  fail: Fail<never>,
): Promise<void> {
  const found = await Promise.all((skillIds ?? []).map((id) => store.skills.get(id)));
  const issues = found.flatMap((skill, index) =>
    skill && !isHiddenByLimit(principal, 'skill', 'read', skill)
      ? []
      : [{ path: `skillIds[${index}]`, message: `There is no skill ${skillIds?.[index]}; see list_skills.` }],
  );
  if (issues[0]) throw fail('invalid_input', issues[0].message, { issues });
}

export async function requireProjects(caller: ReferenceCaller, given: Agent['knowledge'] | null): Promise<void> {
  const missing = (given?.projectIds ?? []).map(async (id, index) => {
    const message = await missingRecord(caller, 'project', id);
    return message === undefined ? [] : [{ path: `knowledge.projectIds[${index}]`, message }];
  });
  requireNoIssues((await Promise.all(missing)).flat());
}
