/** How the records of one kind are addressed as MCP resources, and by which tools they are read and listed. */
export interface Address {
  /** The template's variables are inputs of the read tool. A template without variables is the address of the only record of its kind. */
  readonly uriTemplate: string;
  readonly title: string;
  readonly description: string;
  /** Media type of the records. Undefined where each record has its own, in its member `mimeType`. */
  readonly mimeType: string | undefined;
  /** The collection of the store that holds the records. */
  readonly collection: string;
  /** `text` names the member that is read as text, `data` the one with bytes in base64. Without both, the whole record is read as JSON. */
  readonly text?: string;
  readonly blob?: string;
  readonly readTool: string;
  /** The tool that lists the records. Undefined where a record is only read by an address that the reader already knows. */
  readonly listTool?: string;
  /** The member that lists show as the record's name. */
  readonly label: string;
  /** For each variable: the tool that lists the records whose ids it takes, and the member that people know them by. */
  readonly completions: Readonly<Record<string, { readonly listTool: string; readonly label: string }>>;
}

const JSON_TYPE = 'application/json';
const MARKDOWN = 'text/markdown';

/** Every kind of record that can be read as a resource, in the order of the tools' groups. */
export const addresses: readonly Address[] = [
  record('agent', 'agents', 'Agent', 'list_agents', 'name'),
  record('skill', 'skills', 'Skill', 'list_skills', 'name'),
  record('flow', 'flows', 'Flow', 'list_flows', 'name'),
  record('thread', 'threads', 'Thread', 'list_threads', 'title'),
  record('report', 'reports', 'Report', 'list_reports', 'title'),
  {
    uriTemplate: 'bot-config://workspace',
    title: 'Bot config',
    description: 'Bot config as JSON, as get_bot_config answers it.',
    mimeType: JSON_TYPE,
    collection: 'botConfigs',
    readTool: 'get_bot_config',
    label: 'name',
    completions: {},
  },
  record('capsule', 'capsules', 'Capsule', 'list_capsules', 'name'),
  record('memory', 'memories', 'Memory', 'list_memories', 'content'),
  record('project', 'projects', 'Project', 'list_projects', 'name'),
  record('goal', 'goals', 'Goal', 'list_goals', 'title'),
  record('task', 'tasks', 'Task', 'list_tasks', 'title'),
  {
    uriTemplate: 'task-document://{id}',
    title: 'Task document',
    description: 'Text that goes with a task, by the id of the task.',
    mimeType: MARKDOWN,
    text: 'content',
    collection: 'taskDocuments',
    readTool: 'get_task_document',
    label: 'id',
    completions: { id: { listTool: 'list_tasks', label: 'title' } },
  },
  {
    ...record('document', 'documents', 'Document', 'list_documents', 'title'),
    description: 'Markdown of a document.',
    mimeType: MARKDOWN,
    text: 'content',
  },
  {
    ...record('artifact', 'artifacts', 'Artifact', 'list_artifacts', 'name'),
    description: 'What is in an artifact, under its own media type.',
    mimeType: undefined,
    text: 'content',
    blob: 'data',
  },
  record('database', 'databases', 'Database', 'list_databases', 'name'),
  {
    uriTemplate: 'database-record://{databaseId}/{id}',
    title: 'Database record',
    description: 'Record of a database as JSON, as get_record answers it.',
    mimeType: JSON_TYPE,
    collection: 'databaseRecords',
    readTool: 'get_record',
    label: 'id',
    completions: {
      databaseId: { listTool: 'list_databases', label: 'name' },
      id: { listTool: 'list_records', label: 'id' },
    },
  },
];

function record(kind: string, collection: string, title: string, listTool: string, label: string): Address {
  const readTool = `get_${kind}`;
  return {
    uriTemplate: `${kind}://{id}`,
    title,
    description: `${title} as JSON, as ${readTool} answers it.`,
    mimeType: JSON_TYPE,
    collection,
    readTool,
    listTool,
    label,
    completions: { id: { listTool, label } },
  };
}
