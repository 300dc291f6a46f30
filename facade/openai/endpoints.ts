import { ToolError } from '../../tools/core/errors.ts';
import type { Registry } from '../../tools/core/registry/registry.ts';
import type { Endpoint } from '../http/request-context.ts';
import { completeChat } from './chat-completions.ts';
import { sendOpenAiError } from './errors.ts';
import { listModels, showModel } from './models.ts';

const BASE = '/api/v1/openai';

/** Agents in the form of OpenAI's API, for clients that know no other. */
export function openAiEndpoints(registry: Registry): Endpoint[] {
  const form = { forCapsules: true, sendError: sendOpenAiError } as const;
  return [
    { ...form, method: 'GET', path: `${BASE}/models`, serve: (context) => listModels(registry, context) },
    { ...form, method: 'GET', path: `${BASE}/models/{id}`, serve: (context) => showModel(registry, context) },
    {
      ...form,
      method: 'POST',
      path: `${BASE}/chat/completions`,
      serve: (context) => completeChat(registry, context),
    },
    {
      ...form,
      method: '*',
      path: `${BASE}/{+path}`,
      serve() {
        throw new ToolError('not_found', NOT_HERE);
      },
    },
  ];
}

const NOT_HERE = `There is nothing at this path; ${BASE} has /models and /chat/completions.`;
