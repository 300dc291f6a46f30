import type { CallerRef } from '../../ui.ts';

type ReadRecord = Readonly<{ id: string; revision: number }>;

type Usage = Readonly<{ inputTokens: number; outputTokens: number }>;

/** A run, as `list_agent_runs` answers it. */
export interface RunRow {
  readonly id: string;
  readonly kind: 'chat' | 'invoke';
  readonly status: string;
  readonly agentId?: string;
  readonly agentRevision?: number;
  readonly threadId?: string;
  readonly model: string;
  readonly principal: CallerRef;
  readonly onBehalfOf?: readonly CallerRef[];
  readonly requestId?: string;
  readonly flowRunId?: string;
  readonly steps: number;
  readonly usage: Usage;
  readonly stopReason?: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly createdAt: string;
  readonly finishedAt?: string;
}

export type RunTurn = Readonly<{ model: string; usage: Usage; ms: number }>;

export interface RunCall {
  readonly turn: number;
  readonly tool: string;
  readonly auditId?: string;
  readonly outcome: string;
  readonly code?: string;
  readonly ms: number;
  readonly records: readonly ReadRecord[];
  readonly runId?: string;
}

/** A run in full, as `get_agent_run` answers it. */
export interface Run extends RunRow {
  readonly prompt?: ReadRecord;
  readonly skills: readonly ReadRecord[];
  readonly memories: readonly ReadRecord[];
  readonly turns?: readonly RunTurn[];
  readonly calls: readonly RunCall[];
  readonly hidden: number;
}
