type Failure = Readonly<{ code: string; message?: string }>;

export interface RunStep {
  readonly id: string;
  readonly tool: string;
  readonly status: string;
  readonly attempts: number;
  readonly input?: object;
  readonly output?: object;
  readonly error?: Failure;
  readonly retryAt?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

/** A run, as `get_flow_run` answers it. */
export interface Run {
  readonly id: string;
  readonly flowId: string;
  readonly flowRevision?: number;
  readonly status: string;
  readonly trigger: { readonly kind: string; readonly type?: string; readonly by?: { readonly name: string } };
  readonly runAs: { readonly name: string };
  readonly input?: object;
  readonly steps: readonly RunStep[];
  readonly error?: Failure;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}
