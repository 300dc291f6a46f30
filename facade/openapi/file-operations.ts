import { z } from 'zod';
import { MOST_ATTACHMENTS } from '../../resources/attachment.ts';
import type { Tool } from '../../tools/core/registry/define-tool.ts';
import { fileInput } from '../../tools/documents/file-input.ts';
import { MOST_FILE_BYTES } from '../../tools/documents/files/limits.ts';
import { fieldsBesideFile, takesMany } from '../rest/file-body.ts';
import { headerRefs } from './operation.ts';
import type { Part, SchemaComponents } from './schemas.ts';

const BYTES = { type: 'string', contentMediaType: 'application/octet-stream', maxLength: MOST_FILE_BYTES };

/** An operation whose body may also be a file: in a form, or as the bytes themselves with their fields in the query. */
export function withFileBodies(operation: Part, tool: Tool, schemas: SchemaComponents): Part {
  const many = takesMany(tool.input);
  const named = many ? {} : fileInput.pick({ name: true, sha256: true }).shape;
  const shape = { ...fieldsBesideFile(tool.input).shape, ...named };
  const { properties = {} } = schemas.inline(z.object(shape), 'input');
  const members = Object.entries(properties as Readonly<Record<string, Part>>); // made from an object schema
  const fields = members.map(([name, schema]) => [name, asText(schema)] as const);
  const { parameters = [], requestBody } = operation as {
    readonly parameters?: readonly Part[];
    readonly requestBody: { readonly content: Part };
  }; // made by toolOperation, of a tool that takes a body
  const form = {
    type: 'object',
    properties: {
      file: many
        ? { type: 'array', items: BYTES, maxItems: MOST_ATTACHMENTS, description: 'The files, each with its name.' }
        : { ...BYTES, description: 'The bytes. Their file name counts where `name` is left out.' },
      ...Object.fromEntries(fields),
    },
    required: ['file'],
    additionalProperties: false,
  };
  const inQuery = fields.map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description: [description, 'Only with a file as the body.'].filter(Boolean).join(' '),
    schema,
    ...(schema.type === 'array' && { style: 'form', explode: false }),
  }));
  if (many) {
    const content = { ...requestBody.content, 'multipart/form-data': { schema: form } };
    return { ...operation, requestBody: { ...requestBody, content } };
  }
  return {
    ...operation,
    parameters: [...parameters, ...inQuery],
    requestBody: {
      ...requestBody,
      content: {
        ...requestBody.content,
        'multipart/form-data': { schema: form },
        'application/octet-stream': { schema: BYTES },
      },
    },
  };
}

/** Its answer is a file. Whoever may call the tool may ask for it. */
export function withFileAnswer({ responses, ...operation }: Part, id: string, description: string): Part {
  const parameters = ((operation.parameters ?? []) as readonly Part[]).filter((each) => each.in === 'path'); // of toolOperation
  const { 200: _, ...errors } = responses as Readonly<Record<string, Part>>;
  const answered = {
    description: 'The bytes, to be saved.',
    headers: headerRefs('X-Request-Id'),
    content: { 'application/octet-stream': { schema: BYTES } },
  };
  return { ...operation, operationId: id, description, parameters, responses: { 200: answered, ...errors } };
}

/** Neither a query nor a form can say null, and what is left out stays as it is in an update. */
function asText({ default: _, anyOf, ...schema }: Part): Part {
  const given = Array.isArray(anyOf) ? anyOf.find(({ type }: Part) => type !== 'null') : undefined;
  return { ...given, ...schema };
}
