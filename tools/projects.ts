import { z } from 'zod';
import { expectedRevision, namePart, pageOf, paging, recordId, sortBy } from '../resources/fields.ts';
import { refTo } from '../resources/markers.ts';
import { type Project, project, projectFields, projectStatus } from '../resources/project.ts';
import { whereAllowed } from './core/access/record-limit.ts';
import { withoutBookkeeping } from './core/history/history.ts';
import { defineKind } from './core/registry/define-kind.ts';
import { CREATES, DELETES, defineTool, READS, UPDATES } from './core/registry/define-tool.ts';
import { listPage, textFilter } from './core/registry/paging.ts';
import { requireUnreferenced } from './core/registry/references.ts';

const projectId = refTo('project', recordId).describe('Project id (`prj_…`), see list_projects.');
const { name, description } = projectFields;

const listProjects = defineTool({
  name: 'list_projects',
  title: 'List projects',
  description: 'List projects, newest first, optionally by status. Returns a page with `nextCursor`.',
  keywords: 'workspaces for work, initiatives, folders, which projects do we have, all projects',
  access: { scope: 'projects:read', grant: 'project:read', narrows: true, selects: { name: 'name', status: 'status' } },
  annotations: READS,
  input: z.strictObject({
    name: projectFields.name.optional().describe('Exactly this name, which several projects may have.'),
    q: namePart.describe('Part of the name, ignoring case.'),
    status: projectStatus.optional(),
    ...sortBy('name'),
    ...paging,
  }),
  output: pageOf(project),
  errors: [],

  handler({ name, q, status, ...input }, { store, principal }) {
    const any = whereAllowed<Project>(principal.rights.limitedTo('project', 'read'), 'id');
    return listPage(
      store.projects,
      input,
      { where: { name, status }, any, part: textFilter<Project>(q, 'name') },
      (record) => record,
    );
  },
});

const getProject = defineTool({
  name: 'get_project',
  title: 'Get project',
  description: 'Read one project. Its goals, tasks, documents and artifacts are listed by their own tools.',
  keywords: 'open a project, project details',
  access: { scope: 'projects:read', grant: 'project:read:{id}' },
  annotations: READS,
  input: z.strictObject({ id: projectId }),
  output: project,
  errors: ['not_found'],

  handler: ({ id }, { store }) => store.projects.read(id),
});

const createProject = defineTool({
  name: 'create_project',
  title: 'Create project',
  description: 'Create a project, active by default. Returns it; goals, tasks and documents take its id.',
  keywords: 'new initiative, space for a launch, start a project, folder, organise work',
  access: { scope: 'projects:write', grant: 'project:write' },
  annotations: CREATES,
  input: z.strictObject({ name, description: description.optional(), status: projectStatus.default('active') }),
  output: project,
  errors: [],

  handler: (input, { store }) => store.projects.insert(input),
});

const updateProject = defineTool({
  name: 'update_project',
  title: 'Update project',
  description:
    'Change fields of a project; null clears an optional one. Returns the project. History keeps the old state.',
  keywords: 'rename a project, archive, close a project',
  access: { scope: 'projects:write', grant: 'project:write:{id}' },
  annotations: UPDATES,
  input: z.strictObject({
    id: projectId,
    name: name.optional(),
    description: description.nullable().optional(),
    status: projectStatus.optional(),
    expectedRevision,
  }),
  output: project,
  errors: ['not_found', 'conflict'],

  handler: ({ id, expectedRevision, ...change }, { store }) => store.projects.update(id, change, { expectedRevision }),
});

const deleteProject = defineTool({
  name: 'delete_project',
  title: 'Delete project',
  description: 'Delete a project that no goal, task, document or artifact refers to; restore_version brings it back.',
  keywords: 'remove a project',
  access: { scope: 'projects:write', grant: 'project:delete:{id}' },
  annotations: DELETES,
  input: z.strictObject({ id: projectId, expectedRevision }),
  output: z.object({}),
  errors: ['not_found', 'conflict'],

  async handler({ id, expectedRevision }, context) {
    await requireUnreferenced(context, 'project', id);
    await context.store.projects.delete(id, { expectedRevision });
    return {};
  },
});

export const projectTools = [listProjects, getProject, createProject, updateProject, deleteProject];

export const projectKind = defineKind({
  type: 'project',
  collection: 'projects',
  list: listProjects,
  get: getProject,
  update: updateProject,
  delete: deleteProject,
  history: {
    payload: withoutBookkeeping,
  },
  purge: 'alone',
});
