import type { z } from 'zod';
import type { Agent } from '../../../resources/agent.ts';
import type { GivenPassage } from '../../../resources/agent-run.ts';
import type { foundPassage } from '../../../resources/document.ts';
import type { Citation } from '../../../resources/message.ts';
import { actingFor } from '../../core/access/agent-principal.ts';
import type { CheckCredential } from '../../core/access/credential-status.ts';
import type { Principal } from '../../core/access/principal.ts';
import { seesTool } from '../../core/access/reach.ts';
import type { Catalog } from '../../core/registry/catalog-index.ts';
import type { CallingContext } from '../../core/registry/context.ts';
import { onceSaid } from './once-said.ts';

const SEARCHES = 'search_passages';
const LONGEST_QUERY = 400;
/** More than the agent gets, as equal ones are dropped. */
const MOST_ASKED = 50;

type Found = z.infer<typeof foundPassage>;

/** A passage as the prompt holds it. */
export interface KnownPassage extends GivenPassage {
  readonly title: string;
  readonly text: string;
}

export interface Knowledge {
  /** Those that fit, best first, numbered from 1. */
  readonly passages: readonly KnownPassage[];
  /** Why the documents could not be searched. */
  readonly problem?: string;
}

interface Asking {
  readonly agent: Agent;
  readonly caller: Principal;
  readonly renewedAs: (
    acting: (caller: Principal, agent: Agent | undefined) => Principal,
  ) => CheckCredential | undefined;
  readonly catalog: Catalog;
  readonly call: CallingContext<unknown, never>['call'];
  readonly signal: AbortSignal;
  /** What the conversation is about. */
  readonly text: string;
}

/**
 * Looks up the documents that the agent is to answer from, by the calls that it could make itself: with the rights of its caller, and with an
 * audit entry each. Undefined for an agent without knowledge, and for a caller who may not read documents.
 */
export async function lookUp({ text, ...asking }: Asking): Promise<Knowledge | undefined> {
  const { agent, caller, catalog, call, signal } = asking;
  const { knowledge } = agent;
  const tool = catalog.get(SEARCHES)?.tool;
  const q = text.trim().slice(0, LONGEST_QUERY).toWellFormed();
  if (!knowledge || !tool || q === '') return undefined;
  // What it knows is this one tool, besides its allowlist.
  const acting = (whom: Principal, as = agent) =>
    actingFor(whom, { ...as, askFirst: [], tools: as.knowledge ? [SEARCHES] : [] }, catalog);
  const principal = acting(caller);
  if (!seesTool(principal, tool)) return undefined;
  const { projectIds, tags, maxPassages: limit } = knowledge;
  const options = { principal, checkCredential: asking.renewedAs(acting), door: 'agent', signal } as const;
  const asked = (projectIds ?? [undefined]).map((projectId) => ({
    ...{ q, limit: Math.min(MOST_ASKED, 2 * limit) },
    ...(projectId !== undefined && { projectId }),
    ...(tags && { tags }),
  }));
  const answers = await Promise.all(asked.map((input) => call(SEARCHES, input, options)));
  const refused = answers.find((answer) => !answer.ok && !UNREADABLE.has(answer.error.code));
  const found = answers.flatMap((answer) => (answer.ok ? (answer.output as { data: Found[] }).data : [])); // as the tool declares
  const fitting = found.filter(({ weak }) => !weak).sort((one, other) => other.score - one.score);
  return {
    // A document has an id and a revision.
    passages: onceSaid(fitting, ({ text }) => text)
      .slice(0, limit)
      .map(({ documentId: id = '', revision = 1, title, path, offset, text: said }, at) => ({
        ...{ number: at + 1, id, revision, path, offset },
        ...{ title, text: said },
      })),
    ...(refused && !refused.ok && { problem: refused.error.error }),
  };
}

/** A project without documents that the agent may read is as good as an empty one. */
const UNREADABLE: ReadonlySet<string> = new Set(['forbidden', 'not_found']);

const CITED = /\[(\d{1,2}(?:\s*[,;]\s*\d{1,2})*)\]/g;

/** The passages that an answer names, as `[1]` or `[1, 3]`, by their numbers. */
export function citationsIn(text: string, passages: readonly GivenPassage[]): Citation[] {
  const numbers = new Set(Array.from(text.matchAll(CITED), ([, list = '']) => list.split(/[,;]/).map(Number)).flat());
  return passages
    .filter(({ number }) => numbers.has(number))
    .map(({ number, id: documentId, revision, offset }) => ({ number, documentId, revision, offset }));
}
