import * as body from '../../facade/http/body.ts';
import * as signedDoor from '../../facade/http/webhook-door.ts';
import * as approval from '../../resources/approval.ts';
import * as artifact from '../../resources/artifact.ts';
import * as attachments from '../../resources/attachment.ts';
import * as capsule from '../../resources/capsule.ts';
import { DAY_MS } from '../../resources/durations.ts';
import * as integration from '../../resources/integration.ts';
import * as report from '../../resources/report.ts';
import * as thread from '../../resources/thread.ts';
import * as rowReaders from '../../store/duckdb/rows-file.ts';
import * as textIndex from '../../store/lowdb/text/text-index.ts';
import { LONGEST_INDEXED } from '../../store/search-text.ts';
import * as agentTools from '../../tools/agents/run/agent-tools.ts';
import * as history from '../../tools/agents/run/conversation-history.ts';
import * as loop from '../../tools/agents/run/loop.ts';
import * as outputSchema from '../../tools/agents/run/output-schema.ts';
import * as prompt from '../../tools/agents/run/prompt.ts';
import * as remember from '../../tools/agents/run/remember.ts';
import * as importing from '../../tools/analytics/import-records.ts';
import * as question from '../../tools/analytics/question.ts';
import * as wording from '../../tools/analytics/wording.ts';
import * as stage from '../../tools/attachments/stage.ts';
import * as capsuleUse from '../../tools/capsules/use.ts';
import * as messageFiles from '../../tools/chat/message-files.ts';
import * as attached from '../../tools/connections/attachments.ts';
import * as connections from '../../tools/connections/connections.ts';
import * as outgoing from '../../tools/connections/outgoing.ts';
import * as send from '../../tools/connections/send.ts';
import * as nesting from '../../tools/core/access/agent-principal.ts';
import * as auditEntry from '../../tools/core/history/audit-entry.ts';
import * as embedding from '../../tools/core/models/embedding-model.ts';
import * as models from '../../tools/core/models/models.ts';
import * as providerFetch from '../../tools/core/models/provider-fetch.ts';
import * as answers from '../../tools/core/outbound/limits.ts';
import * as approvals from '../../tools/core/registry/approvals.ts';
import * as columns from '../../tools/databases/columns.ts';
import * as recordQuery from '../../tools/databases/record-query.ts';
import * as scan from '../../tools/databases/scan-limit.ts';
import * as values from '../../tools/databases/values.ts';
import * as fileInput from '../../tools/documents/file-input.ts';
import * as files from '../../tools/documents/files/limits.ts';
import * as readFile from '../../tools/documents/files/read-file.ts';
import * as requests from '../../tools/embeddings/embedding-requests.ts';
import * as meaning from '../../tools/embeddings/semantic-search.ts';
import * as definition from '../../tools/flows/definition-texts.ts';
import * as templates from '../../tools/flows/expressions.ts';
import * as bounded from '../../tools/flows/expressions.ts';
import * as deliveries from '../../tools/flows/inbound/deliveries.ts';
import * as schemes from '../../tools/flows/inbound/schemes.ts';
import * as render from '../../tools/flows/render.ts';
import * as outcome from '../../tools/flows/run/outcome.ts';
import * as places from '../../tools/flows/run/run-slots.ts';
import * as schedules from '../../tools/flows/run/schedules.ts';
import * as triggers from '../../tools/flows/run/triggers.ts';
import * as queue from '../../tools/flows/run-queue.ts';
import * as flowRuns from '../../tools/flows/runs.ts';
import * as filling from '../../tools/flows/template-evaluator.ts';
import * as links from '../../tools/integrations/accounts/links.ts';
import * as integrations from '../../tools/integrations/target.ts';
import * as connection from '../../tools/integrations/upstream/connection.ts';
import * as pool from '../../tools/integrations/upstream/connection-pool.ts';
import * as pages from '../../tools/integrations/upstream/list-tools.ts';
import * as foreignSchema from '../../tools/integrations/upstream/schema.ts';
import * as definitions from '../../tools/integrations/upstream/tool-definitions.ts';
import * as transport from '../../tools/integrations/upstream/transport.ts';
import * as progress from '../../tools/integrations/upstream/upstream.ts';
import * as upstream from '../../tools/integrations/upstream/upstream.ts';
import * as retention from '../../tools/retention.ts';
import * as fork from '../../tools/threads/fork.ts';
import * as usage from '../../tools/usage/figures.ts';
import * as rollUps from '../../tools/usage/roll-ups.ts';
import * as diff from '../../tools/versions/diff.ts';
import * as fitting from '../../tools/versions/diff.ts';
import * as diffing from '../../tools/versions/diff-payloads.ts';
import * as alerts from '../../tools/webhooks/alerts.ts';
import * as pace from '../../tools/webhooks/attempt.ts';
import * as engine from '../../tools/webhooks/engine.ts';
import * as mails from '../../tools/webhooks/mails.ts';
import * as upkeep from '../../tools/webhooks/outbox.ts';
import * as sending from '../../tools/webhooks/sender.ts';
import { bytes, count, inputOf, type Limits, most, time } from './limit-text.ts';

/** By heading, the limits of records, agents, flows and the other groups of tools. */
export const toolLimits: Limits = {
  Records: [
    ['text of a document or task document', `${most('create_document', 'content')} characters`],
    [
      'artifact',
      `${most('create_artifact', 'content')} characters of text or ${bytes(artifact.MOST_BYTES)} of binary data`,
    ],
    [
      'file of a document',
      `${bytes(files.MOST_FILE_BYTES)} as the body of a REST request, ${count(fileInput.MOST_INLINE_BYTES)} bytes in a call; ${count(files.CONVERSION_LIMITS.pages)} pages, ${count(files.CONVERSION_LIMITS.columns)} columns, ${bytes(files.CONVERSION_LIMITS.unpackedBytes)} unpacked; ${time(readFile.CONVERSION_MS)} and ${readFile.MOST_MEGABYTES} MB of memory to read it`,
    ],
    [
      'files of a message',
      `${attachments.MOST_ATTACHMENTS}: ${bytes(stage.MOST_IMAGE_BYTES)} an image, ${bytes(files.MOST_FILE_BYTES)} a file, ${bytes(stage.MOST_ATTACHED_BYTES)} together; a body with files that is silent for ${time(body.FILES_SILENCE_MS)} is given up; ${messageFiles.MOST_EARLIER_FILES} of a \`history\``,
    ],
    ['arguments of a report', `${count(report.MOST_CHARACTERS)} characters of JSON`],
    ['database', `${columns.MOST_COLUMNS} columns; a record ${count(values.LONGEST_RECORD)} characters of JSON`],
    [
      '`list_records` with `filter` or `sort`',
      `scans ${count(scan.MOST_RECORDS)} records a call, a record counting once more for each ${scan.CHARACTERS} characters that \`contains\` reads; a page then ends early with \`nextCursor\`, while \`sort\` and \`includeTotal\` are refused. Texts are sorted by their first ${recordQuery.ORDERED_BY} characters`,
    ],
    ['access entries of a thread', `${thread.MOST_ENTRIES}`],
    ['first messages of a new thread', most('create_thread', 'messages')],
    [
      'fork of a thread',
      `${count(fork.MOST_COPIED)} messages, ${count(fork.MOST_CHARACTERS)} characters, ${count(fork.MOST_FILES)} files, ${bytes(fork.MOST_FILE_BYTES)} together; \`latest\` copies the latest messages of a longer thread`,
    ],
    [
      'diff of two versions',
      `texts ${time(diff.TEXT_DIFF_MS)}, lists ${count(diff.MOST_PAIRS)} pairs of items, then the whole value counts as changed; ${time(diffing.MOST_MS)} and ${bytes(fitting.LARGEST)} in all (\`leftOut\` names the rest)`,
    ],
    ['arguments in the audit log', `${bytes(auditEntry.LONGEST_ARGUMENTS)} of JSON`],
    [
      'search',
      `\`q\` of ${most('search', 'q')} characters, of which ${textIndex.MOST_WORDS} words count; the first ${count(LONGEST_INDEXED)} characters of each member are searched`,
    ],
    [
      'search by meaning',
      `${requests.MOST_TEXTS} texts a request to the provider; the question waits ${time(meaning.QUERY_MS)} for its vector, then goes by words alone, also in the ${time(meaning.AWAY_MS)} after; vectors of ${count(embedding.MOST_NUMBERS)} numbers at most, each number a byte of memory in each process`,
    ],
  ],
  Capsules: [
    ['`allowedTools`, `deniedTools`', `${most('create_capsule', 'allowedTools')} entries each`],
    ['`constraints`', `${count(capsule.LONGEST_CONSTRAINTS)} characters of JSON`],
    [
      '`callsPerMinute`',
      'counts `tools/call`, reading and listing resources and prompts, and completions, in all processes',
    ],
    ['`callCount`, `lastUsedAt`', `written ${time(capsuleUse.WRITTEN_EVERY_MS)} later; \`kill -9\` loses that`],
  ],
  Agents: [
    [
      'a run',
      `${time(models.RUN_MS)}, \`maxSteps\` turns (${most('create_agent', 'maxSteps')} at most) with up to ${loop.MOST_CALLS} calls each; its record is kept for ${retention.RUN_DAYS} days (\`retentionDays.runs\`)`,
    ],
    ['a message', `${most('send_chat_message', 'message')} characters`],
    [
      'history in the prompt',
      `a quarter of the model’s \`contextTokens\`, at most ${count(history.MOST_HISTORY)}, or ${count(history.HISTORY)} tokens where it has none, and ${history.MOST_REMEMBERED} messages; beyond that the older half is summarised`,
    ],
    [
      'skills; memories; passages in the prompt',
      `${count(prompt.SKILLS)} tokens; ${count(prompt.MEMORIES)} and \`maxInjected\` memories; ${count(prompt.PASSAGES)} and \`maxPassages\``,
    ],
    [
      'tool results',
      `${count(agentTools.LONGEST_RESULT)} characters each, ${count(history.RESULTS)} tokens in all; the oldest are left out`,
    ],
    ['token', 'estimated as 4 bytes; a model with a smaller context refuses long prompts (503)'],
    [
      'tools of an agent',
      `${agentTools.MOST_TOOLS}; beyond that \`search_tools\`, \`describe_tool\` and \`call_tool\` give access to the rest`,
    ],
    [
      'a busy provider',
      `asked ${providerFetch.ATTEMPTS} times, waiting as \`Retry-After\` says, ${time(providerFetch.LONGEST_WAIT_MS)} at most`,
    ],
    [
      '`outputSchema`',
      `${count(outputSchema.MOST_CHARACTERS)} characters, ${outputSchema.MOST_NODES} parts, ${outputSchema.DEEPEST} levels, no \`$ref\`, no \`pattern\`; ${outputSchema.TRIES} tries`,
    ],
    ['`remember`', `${remember.MOST_IN_A_RUN} times in a run; facts, episodes and summaries only`],
    ['nesting of agents and flows', `${nesting.DEEPEST}`],
  ],
  Flows: [
    [
      'runs of a flow',
      `${queue.MOST_QUEUED} may wait; the last ${queue.MOST_KEPT} are kept, for \`retentionDays.runs\``,
    ],
    [
      'waiting and running runs',
      `${count(queue.MOST_OPEN_OF_OWNER)} of one owner, ${count(queue.MOST_OPEN)} in all, then \`conflict\``,
    ],
    [
      'runs at a time in each process',
      `${places.MOST_AT_ONCE}; an owner without a running one gets one more, up to ${places.MOST_IN_ALL} in all`,
    ],
    [
      'a step',
      `${time(outcome.STEP_MS)}; ${bytes(render.LARGEST)} of arguments, ${bytes(outcome.LARGEST_OUTPUT)} of answer`,
    ],
    ['a run', `${bytes(flowRuns.LARGEST_INPUT)} of input, ${bytes(outcome.LARGEST_RUN)} of answers`],
    [
      'texts of a flow',
      `${count(definition.MOST_CHARACTERS)} characters; ${templates.MOST_FILTERS} filters in an output or tag, ${templates.MOST_SEGMENTS} segments in a path; outputs times characters of all templates ${count(definition.MOST_WORK)}`,
    ],
    ['templates and conditions', `${time(bounded.MOST_MS)} a step, ${time(filling.RUN_MS)} a run`],
    ['chain of events', `${queue.DEEPEST_CAUSES} flows`],
    ['events that wait', `${count(triggers.MOST_PENDING)}; further ones are lost, and the log says so`],
    ['schedule', `skipped when missed by more than ${time(schedules.LATEST_MS)}`],
    [
      'signed deliveries',
      `${signedDoor.MOST_A_MINUTE} a minute from one address (IPv6: one /64); ${bytes(signedDoor.SIGNED_BODY.largest)}; signed time within ${time(schemes.TOLERANCE_MS)}; listed for ${time(deliveries.KEPT_MS)}`,
    ],
  ],
  Approvals: [
    ['a call that waits', `${approval.APPROVAL_HOURS} hours (\`approvalHours\`)`],
    ['its arguments', `${count(approvals.LONGEST_SEALED)} characters of JSON`],
    ['decided or expired calls', `kept for ${retention.APPROVAL_DAYS} days (\`retentionDays.approvals\`)`],
  ],
  'Connections and mail': [
    ['connections', count(connections.MOST_CONNECTIONS)],
    [
      'an answer',
      `${count(outgoing.MOST_KEPT)} bytes of text or ${count(send.MOST_BINARY)} of other data, more is cut; ${time(outgoing.ANSWER_MS)}`,
    ],
    [
      'a mail',
      `${most('send_mail', 'to')} recipients, ${most('send_mail', 'markdown')} characters, ${most('send_mail', 'attachments')} attachments of ${count(attached.MOST_ATTACHED)} bytes together`,
    ],
  ],
  Integrations: [
    [
      'integrations',
      `${integrations.MOST_INTEGRATIONS}, each with ${integration.MOST_ENTRIES} variables or headers and ${definitions.MOST_TOOLS} tools`,
    ],
    [
      'a listing',
      `${pages.MOST_PAGES} pages, ${bytes(definitions.MOST_BYTES)}; a schema ${bytes(foreignSchema.MOST_BYTES)} and ${foreignSchema.DEEPEST} levels, a description ${count(definitions.LONGEST_DESCRIPTION)} characters, a name with prefix ${definitions.LONGEST_NAME}`,
    ],
    [
      'a call',
      `\`timeoutMs\` without progress (default ${time(Number(inputOf('create_integration', 'timeoutMs').default))}, at most ${time(inputOf('create_integration', 'timeoutMs').maximum ?? 0)}), ${time(connection.LONGEST_CALL_MS)} in all; ${upstream.MOST_CALLS} at a time`,
    ],
    [
      'an answer',
      `${bytes(transport.MOST_BYTES)}, ${count(answers.MOST_MEMBERS)} members, ${answers.DEEPEST} levels; the first ${progress.FREELY} progress reports, then one in ${time(progress.EVERY_MS)}`,
    ],
    [
      'connections of persons',
      `${pool.LIMITS.most} for each integration; closed after ${time(pool.LIMITS.idleMs)} idle`,
    ],
    ['link to connect an account', `${time(links.LINK_MS)}, once`],
    [
      'unreachable server',
      `tried again after ${time(pool.BACKOFF.firstMs)}, later after ${time(pool.BACKOFF.longestMs)} at most`,
    ],
    ['not supported', 'sampling, the HTTP+SSE transport of 2024, output schemas'],
  ],
  Webhooks: [
    ['webhooks', `${alerts.MOST_WEBHOOKS}`],
    [
      'waiting events of a webhook',
      `${count(upkeep.MOST_WAITING)}; further ones are left out until fewer than ${count(upkeep.ROOM)} wait, then \`webhook.gap\` tells since when`,
    ],
    [
      'deliveries',
      `kept for ${time(upkeep.KEPT_MS)}, the last ${count(upkeep.MOST_KEPT)} of each webhook; ${sending.AT_ONCE} at a time`,
    ],
    ['answer of the receiver', time(engine.ANSWER_MS)],
    [
      'retries',
      `after ${time(pace.FIRST_PAUSE_MS)}, later after ${time(pace.LONGEST_PAUSE_MS)} at most, for ${time(DAY_MS)} and ${pace.FEWEST_ATTEMPTS} attempts at least`,
    ],
    [
      'e-mails',
      `wait ${time(mails.GATHER_MS)}, then one in ${time(mails.BETWEEN_MS)} with up to ${count(sending.MOST_IN_MAIL)} events, the first ${mails.MOST_LINES} listed`,
    ],
  ],
  'Imports and metrics': [
    [
      'rows of a call',
      `${most('import_records', 'records')}; ${importing.MOST_OF_A_ROW} problems of a rejected row are named`,
    ],
    ['range of a metric', `${question.MOST_PERIODS} intervals; dates from 1900 to 2199`],
    ['metrics at a time', `${rowReaders.READERS}; others wait in turn, and one that nobody waits for ends`],
    ['memory', '`METRICS_MEMORY_MB`, however many rows there are'],
    ['wording of insights', time(wording.WORDING_MS)],
    [
      '`get_usage`',
      `exact percentiles up to ${count(usage.MOST_COUNTED)} calls; figures are kept for ${rollUps.USAGE_DAYS} days (\`retentionDays.usage\`)`,
    ],
  ],
};
