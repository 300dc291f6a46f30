import type { AuditEntry } from '../../resources/audit-entry.ts';
import { newId } from '../../store/ids.ts';

/** Records for tests; `over` replaces members. */
export function agentRecord(name: string, over: object = {}) {
  return {
    name,
    displayName: name,
    status: 'active' as 'active' | 'paused' | 'deleted',
    maxSteps: 10,
    memoryPolicy: { remember: false, maxInjected: 20 },
    ...over,
  };
}

export function versionOf(entityId: string, revision: number, over: object = {}) {
  return {
    entityType: 'agent' as const,
    entityId,
    revision,
    contentHash: 'x'.repeat(64),
    kind: 'snapshot' as const,
    payload: { name: entityId, revision },
    author: { type: 'session', id: 'usr_1', name: 'Ada' },
    ...over,
  };
}

export function auditRecord(over: Partial<AuditEntry> = {}): AuditEntry {
  return {
    id: newId('aud'),
    at: new Date().toISOString(),
    requestId: 'req_1',
    door: 'rest',
    principal: { type: 'api-key', id: 'key_1', name: 'Key' },
    tool: 'get_agent',
    arguments: { id: 'agt_1' },
    outcome: 'ok',
    durationMs: 1.5,
    ...over,
  };
}

/** A time on one day, `seconds` apart from the others. */
export function time(seconds: number): string {
  return new Date(Date.UTC(2026, 0, 5) + seconds * 1000).toISOString();
}

export function memoryRecord(content: string, over: object = {}) {
  return {
    content,
    kind: 'fact' as const,
    scope: 'workspace' as const,
    tags: [] as string[],
    importance: 0.5,
    pinned: false,
    superseded: false,
    accessKeys: [],
    ...over,
  };
}

export function threadRecord(title: string, over: object = {}) {
  return {
    title,
    status: 'active' as const,
    source: 'api',
    visibility: 'workspace' as const,
    messageCount: 0,
    createdBy: 'usr_1',
    entries: [],
    accessKeys: [] as string[],
    ...over,
  };
}

export function runRecord(over: object = {}) {
  return {
    kind: 'invoke' as const,
    status: 'succeeded' as const,
    model: 'one/small',
    principal: { type: 'session' as const, id: 'usr_1', name: 'Ann' },
    steps: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    accessKeys: [] as string[],
    ...over,
  };
}

export function artifactRecord(over: object = {}) {
  return { name: 'a', mimeType: 'text/plain', content: 'x', accessKeys: [] as string[], ...over };
}
