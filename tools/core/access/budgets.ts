import type { TokenUsage } from '../../../resources/agent-run.ts';
import { type BudgetRecord, type BudgetSubjectType, WORKSPACE_ID } from '../../../resources/budget.ts';
import { actorsOf, type Principal } from './principal.ts';

export interface Budgets {
  /** Counts one call. Undefined if no budget counts it. @throws ToolError (rate_limited) if one is used up */
  call(principal: Principal): Promise<void> | undefined;
  /** Reserves, takes and counts a turn. @throws ToolError (rate_limited) if a budget is used up, (conflict) if a turn cannot be priced */
  turn<Turn extends { readonly usage: TokenUsage }>(use: ModelUse, take: () => Promise<Turn>): Promise<Turn>;
  /** @throws ToolError, as a turn would */
  requireRoom(use: Omit<ModelUse, 'estimate' | 'run'>): Promise<void>;
}

/** A turn of a model, before it is taken. */
export interface ModelUse {
  readonly principal: Principal;
  readonly agentId: string | undefined;
  readonly model: string;
  /** The run, and the place that the turn will have in it, so that what was used is known there if this process ends before it is counted. */
  readonly run?: { readonly id: string; readonly turn: number };
  /** What it may use at most, roughly. Asked for only where a budget wants to know. */
  estimate(): TokenUsage;
}

const SUBJECTS: Readonly<Partial<Record<Principal['type'], BudgetSubjectType>>> = {
  'api-key': 'key',
  capsule: 'capsule',
  app: 'app',
  agent: 'agent',
};

/** The subjects of budgets in a principal: itself, all that it acts for, and whatever made one of these. */
export function budgetSubjectsIn(principal: Principal): string[] {
  const subjects = actorsOf(principal).flatMap(({ type, id, ownerId, madeWith, budgetSubjects = [] }) => {
    const subject = SUBJECTS[type];
    const own = subject ? [subjectKey({ type: subject, id })] : [];
    const person = ownerId === '' ? [] : [personSubject(ownerId)];
    const made = madeWith ? [keySubject(madeWith.id), ...madeWith.budgetSubjects] : [];
    return [...own, ...person, ...budgetSubjects, ...made];
  });
  return [...new Set(subjects)];
}

/** Those of all use, and of the use of this principal. */
export function limitsOn(principal: Principal): string[] {
  return [WORKSPACE, ...budgetSubjectsIn(principal)];
}

/** A person who is signed in and may do everything: the only one who may change a budget of the workspace. */
export function isAboveWorkspace({ type, scopes, grants, actsFor, madeWith, limitedBy }: Principal): boolean {
  const isSignedIn = type === 'session' && !actsFor && !madeWith && !limitedBy;
  return isSignedIn && scopes.includes('*') && grants === undefined;
}

/** Whether budgets of the workspace count its calls and refuse none, so that somebody can sign in and change them. */
export function isNeverRefused(principal: Principal): boolean {
  return principal.type === 'anonymous' || isAboveWorkspace(principal);
}

export function subjectKey({ type, id }: BudgetRecord['subject']): string {
  return `${type} ${id}`;
}

export const WORKSPACE = subjectKey({ type: 'workspace', id: WORKSPACE_ID });

export function personSubject(id: string): string {
  return subjectKey({ type: 'person', id });
}

export function keySubject(id: string): string {
  return subjectKey({ type: 'key', id });
}

/** What made a key or capsule, and what made that. Older versions kept the nearest maker alone. */
export function madeBy({ budgetSubjects, createdBy }: CreatedCredential): readonly string[] {
  return budgetSubjects ?? [keySubject(createdBy)];
}

interface CreatedCredential {
  readonly createdBy: string;
  readonly budgetSubjects?: readonly string[] | undefined;
}
