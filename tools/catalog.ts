import { listWhoCan, viewAs } from './access/list-who-can.ts';
import { replayCalls } from './access/replay-calls.ts';
import { suggestAccess } from './access/suggest-access.ts';
import { agentTools } from './agents/agents.ts';
import { provisionAgentIdentity } from './agents/provision.ts';
import { importRecords } from './analytics/import-records.ts';
import { rebuildMetrics } from './analytics/rebuild-metrics.ts';
import { analyticsTools } from './analytics/tools.ts';
import { apiKeyTools } from './api-keys.ts';
import { approvalTools } from './approvals/approvals.ts';
import { authorizeApp } from './apps/authorize-app.ts';
import { connectedAppTools } from './apps/connected-apps.ts';
import { oauthClientTools } from './apps/oauth-clients.ts';
import { artifactTools } from './artifacts.ts';
import { listAuditEntries } from './audit.ts';
import { backupTools } from './backups.ts';
import { capsuleTools } from './capsules/capsules.ts';
import { previewCapsule } from './capsules/preview.ts';
import { invokeAgent } from './chat/invoke-agent.ts';
import { sendChatMessage } from './chat/send-chat-message.ts';
import { connectionTools } from './connections/connections.ts';
import { sendingTools } from './connections/send.ts';
import { sendMail } from './connections/send-mail.ts';
import { type CatalogEntry, indexCatalog } from './core/registry/catalog-index.ts';
import type { Tool } from './core/registry/define-tool.ts';
import { getCurrentPrincipal } from './current-principal.ts';
import { databaseTools } from './databases/databases.ts';
import { recordTools } from './databases/records.ts';
import { discoveryTools } from './discovery/discovery.ts';
import { documentTools } from './documents/documents.ts';
import { explainAccess } from './explain-access.ts';
import { listEventTypes } from './flows/event-types.ts';
import { flowTools } from './flows/flows.ts';
import { listFlowDeliveries, receiveWebhook } from './flows/inbound/deliveries.ts';
import { flowRunTools, retryFlowRun } from './flows/runs.ts';
import { goalTools } from './goals.ts';
import { integrationAccountTools } from './integrations/integration-accounts.ts';
import { integrationTools } from './integrations/integrations.ts';
import { kinds, searchTypes } from './kinds.ts';
import { memoryTools, pathMemoryTools } from './memory/memory.ts';
import { modelProviderTools } from './model-providers/model-providers.ts';
import { listModels } from './models.ts';
import { listHoldings } from './offboarding/holdings.ts';
import { takeOver } from './offboarding/take-over.ts';
import { projectTools } from './projects.ts';
import { reportTools } from './reports.ts';
import { agentRunTools } from './runs/tools.ts';
import { searchTool } from './search/search.ts';
import { searchPassagesTool } from './search/search-passages.ts';
import { getBotConfig, updateBotConfig } from './settings/bot-config.ts';
import { settingsTools } from './settings/settings.ts';
import { adminUserTools } from './sign-in/admin-users.ts';
import { authTools } from './sign-in/auth.ts';
import { passkeyTools } from './sign-in/passkeys.ts';
import { sessionTools } from './sign-in/sessions.ts';
import { skillTools } from './skills.ts';
import { checkHealth, checkSetup, getMcpStatus, getMetrics, getSystemHealth, listToolCategories } from './system.ts';
import { taskTools } from './tasks.ts';
import { forkThread } from './threads/fork.ts';
import { listMessages } from './threads/messages.ts';
import { sharingTools } from './threads/sharing.ts';
import { getThreadStats } from './threads/stats.ts';
import { threadTools } from './threads/threads.ts';
import { budgetTools } from './usage/budgets.ts';
import { getUsage } from './usage/get-usage.ts';
import { purgeableUser, userTools } from './users/users.ts';
import { verifyAudit } from './verify-audit.ts';
import { purgeableAmong, purgeTool } from './versions/purge.ts';
import { undoTool } from './versions/undo.ts';
import { versionTools } from './versions/versions.ts';
import { webhookDeliveryTools } from './webhooks/webhook-deliveries.ts';
import { webhookTools } from './webhooks/webhooks.ts';

function group(name: string, ...tools: readonly Tool[]): CatalogEntry[] {
  return tools.map((tool) => ({ group: name, tool }));
}

/** Every tool of this server, in the order in which lists show them. */
export const catalog = indexCatalog([
  ...group('Auth', ...authTools),
  ...group('Agents', ...agentTools, invokeAgent, provisionAgentIdentity, getSystemHealth),
  ...group('Agents', ...pathMemoryTools, listModels, listToolCategories),
  ...group('Agent runs', ...agentRunTools(kinds)),
  ...group('Skills', ...skillTools),
  ...group('Flows', ...flowTools, ...flowRunTools, retryFlowRun, listEventTypes, listFlowDeliveries, receiveWebhook),
  ...group('Threads', sendChatMessage, ...threadTools, ...sharingTools, forkThread, listMessages, getThreadStats),
  ...group('Users', ...userTools),
  ...group('Admin Users', ...adminUserTools),
  ...group('Analytics', ...analyticsTools),
  ...group('Reports', ...reportTools),
  ...group('Settings', getBotConfig, updateBotConfig, ...settingsTools),
  ...group('Capsules', ...capsuleTools, previewCapsule),
  ...group('Versions', ...versionTools(kinds), undoTool(kinds)),
  ...group('Memory', ...memoryTools),
  ...group('API keys', ...apiKeyTools),
  ...group('Sessions', ...sessionTools, ...passkeyTools),
  ...group('Connected apps', ...connectedAppTools, ...oauthClientTools, authorizeApp),
  ...group(
    'Access',
    explainAccess,
    listWhoCan,
    viewAs,
    replayCalls,
    suggestAccess,
    getCurrentPrincipal,
    listHoldings,
    takeOver,
  ),
  ...group('Projects', ...projectTools),
  ...group('Goals', ...goalTools),
  ...group('Tasks', ...taskTools),
  ...group('Documents', ...documentTools, searchPassagesTool(kinds)),
  ...group('Artifacts', ...artifactTools),
  ...group('Databases', ...databaseTools, ...recordTools),
  ...group('Models', ...modelProviderTools),
  ...group('Integrations', ...integrationTools, ...integrationAccountTools),
  ...group('Connections', ...connectionTools, ...sendingTools, sendMail),
  ...group('Webhooks', ...webhookTools, ...webhookDeliveryTools),
  ...group('Approvals', ...approvalTools),
  ...group('Audit', listAuditEntries, verifyAudit),
  ...group('Usage', getUsage, ...budgetTools),
  ...group('Data', importRecords, rebuildMetrics, purgeTool([...purgeableAmong(kinds), purgeableUser])),
  ...group('Discovery', ...discoveryTools),
  ...group('System', checkHealth, checkSetup, getMetrics, searchTool(searchTypes), ...backupTools),
  ...group('MCP', getMcpStatus),
]);
