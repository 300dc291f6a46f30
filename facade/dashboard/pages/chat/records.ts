/** The members of threads and messages that the chat shows. */
export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status: 'active' | 'archived';
  readonly visibility: 'workspace' | 'restricted';
  readonly agentIds?: readonly string[];
  readonly messageCount: number;
  readonly lastMessageAt?: string;
  readonly createdAt: string;
  readonly revision: number;
  readonly forkedFrom?: { readonly threadId: string };
}

export interface MessageRow {
  readonly id: string;
  readonly role: 'user' | 'assistant' | 'system' | 'tool';
  readonly content: string;
  readonly agentId?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly tool: string; readonly arguments: object }[];
  readonly toolCallId?: string;
  readonly failed?: boolean;
  readonly runId?: string;
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number };
  readonly createdAt: string;
}
