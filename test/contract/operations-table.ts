import { readFileSync } from 'node:fs';

/** One line of operations.tsv: an operation of the specification with the tool, scope, grant and status decided for it. */
export interface Operation {
  readonly group: string;
  readonly method: string;
  readonly path: string;
  readonly tool: string;
  readonly scope: string;
  readonly grant: string;
  readonly status: number;
}

/** The 85 operations, in the order of the specification. */
export const operations: readonly Operation[] = readFileSync(new URL('operations.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [group = '', method = '', path = '', , tool = '', scope = '', grant = '', status = ''] = line.split('\t');
    return { group, method, path, tool, scope, grant, status: Number(status) };
  });

/** The same for tools without a REST path. */
export const toolsWithoutPath: Readonly<Record<string, { readonly scope: string; readonly grant: string }>> = {
  list_api_keys: { scope: 'admin', grant: 'key:read' },
  create_api_key: { scope: 'admin', grant: 'key:write' },
  revoke_api_key: { scope: 'admin', grant: 'key:write:{id}' },
  provision_agent_identity: { scope: 'admin', grant: 'agent:provision:{id}' },
  list_audit_entries: { scope: 'admin', grant: 'audit:read' },
};
