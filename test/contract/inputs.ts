/** An input for every tool that its schema accepts; records it names need not exist. */
const inputs: Readonly<Record<string, Record<string, unknown>>> = {
  get_agent: { id: 'agt_one' },
  create_agent: { name: 'contract', displayName: 'Contract' },
  update_agent: { id: 'agt_one', description: 'changed' },
  delete_agent: { id: 'agt_one' },
  provision_agent_identity: { id: 'agt_one', phone: { number: '+15550100' } },
  get_skill: { id: 'skl_one' },
  create_skill: { name: 'contract' },
  update_skill: { id: 'skl_one', description: 'changed' },
  delete_skill: { id: 'skl_one' },
  create_thread: { title: 'contract' },
  get_thread: { id: 'thr_one' },
  update_thread: { id: 'thr_one', title: 'changed' },
  delete_thread: { id: 'thr_one' },
  get_thread_access: { id: 'thr_one' },
  add_thread_access: { id: 'thr_one', entries: [{ principal: { type: 'user', id: 'usr_one' }, role: 'viewer' }] },
  update_thread_access: { id: 'thr_one', visibility: 'restricted' },
  remove_thread_access: { id: 'thr_one', principalType: 'user', principalId: 'usr_one' },
  fork_thread: { id: 'thr_one' },
  list_messages: { id: 'thr_one' },
  get_admin_user: { id: 'usr_one' },
  create_admin_user: { email: 'contract@example.com' },
  deactivate_admin_user: { id: 'usr_one' },
  reactivate_admin_user: { id: 'usr_one' },
  update_bot_config: { maxTokens: 2048 },
  update_settings: { workspaceName: 'Contract' },
  list_versions: { entityType: 'agent', entityId: 'agt_one' },
  get_version: { entityType: 'agent', entityId: 'agt_one', versionId: 'ver_one' },
  diff_version: { entityType: 'agent', entityId: 'agt_one', versionId: 'ver_one' },
  restore_version: { entityType: 'agent', entityId: 'agt_one', versionId: 'ver_one' },
  create_api_key: { name: 'contract', scopes: [], grants: ['key:write:none'] },
  revoke_api_key: { id: 'key_one' },
};

export function inputFor(tool: string): Record<string, unknown> {
  return inputs[tool] ?? {};
}
