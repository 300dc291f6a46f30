import * as config from '../../facade/config/config.ts';
import * as body from '../../facade/http/body.ts';
import * as server from '../../facade/http/server.ts';
import * as completion from '../../facade/mcp/completion.ts';
import * as message from '../../facade/mcp/message.ts';
import * as listedResources from '../../facade/mcp/resources.ts';
import * as subscriptions from '../../facade/mcp/subscriptions.ts';
import * as documents from '../../facade/oauth/documents.ts';
import * as provider from '../../facade/oauth/provider.ts';
import * as registration from '../../facade/oauth/registration.ts';
import * as requests from '../../facade/oauth/requests.ts';
import * as tokenProofs from '../../facade/oauth/token-proofs.ts';
import * as clients from '../../facade/oauth/unused-clients.ts';
import * as openAi from '../../facade/openai/request.ts';
import * as stage from '../../tools/attachments/stage.ts';
import * as fresh from '../../tools/core/access/fresh-sign-in.ts';
import * as idempotency from '../../tools/core/registry/idempotency.ts';
import * as gauge from '../../tools/core/registry/json-limits.ts';
import * as files from '../../tools/documents/files/limits.ts';
import * as attempts from '../../tools/sign-in/attempts.ts';
import * as challenges from '../../tools/sign-in/challenges.ts';
import * as idToken from '../../tools/sign-in/id-token.ts';
import * as issuer from '../../tools/sign-in/issuer.ts';
import * as sessions from '../../tools/sign-in/open-sessions.ts';
import * as passkeys from '../../tools/sign-in/passkeys.ts';
import { bytes, count, inputOf, type Limits, most, time } from './limit-text.ts';

const variable = (name: string) =>
  config.describeEnvironment().find((each) => each.name === name)?.fallback ?? `(no ${name})`;
const seconds = (value: number) => time(value * 1000);

/** By heading, the limits that callers meet at the doors. */
export const doorLimits: Limits = {
  Requests: [
    [
      'request body',
      `${bytes(body.LARGEST_BODY)}, also after decompression (gzip, deflate, br); a sign-in ${bytes(body.CREDENTIAL.largest)}`,
    ],
    [
      'request body with files',
      `document ${bytes(files.MOST_FILE_BYTES)}, chat ${bytes(stage.MOST_ATTACHED_BYTES)} and a little for what stands around them, in the form of OpenAI ${bytes(openAi.LARGEST_WITH_FILES)}`,
    ],
    [
      'names and array items of a body',
      `${count(gauge.INPUT_LIMITS.members)}; of \`import_records\` and \`update_settings\` ${count(gauge.BULK_LIMITS.members)}; of an MCP message without the arguments ${count(message.MOST_MEMBERS)}`,
    ],
    ['nesting of a body', `${gauge.INPUT_LIMITS.levels} levels`],
    [
      'large bodies',
      `above ${bytes(body.HEAVY_BYTES)} or ${count(body.HEAVY_MEMBERS)} members they are processed one after the other; callers take turns`,
    ],
    [
      'page of a list',
      `\`limit\` 1 to ${most('list_agents', 'limit')}, default ${inputOf('list_agents', 'limit').default}, messages ${inputOf('list_messages', 'limit').default}`,
    ],
    ['idempotency key', `kept for ${time(idempotency.ANSWER_RETENTION_MS)}`],
    ['connections', `${count(Number(variable('MAX_CONNECTIONS')))} (\`MAX_CONNECTIONS\`)`],
    [
      'idle connection',
      `${time(server.KEEP_ALIVE_MS)}; ${variable('FIRST_REQUEST_SECONDS')} seconds (\`FIRST_REQUEST_SECONDS\`) where nobody was authenticated`,
    ],
    ['running calls at shutdown', time(server.SHUTDOWN_MS)],
  ],
  MCP: [
    [
      'subscriptions',
      `${subscriptions.MOST_OPEN} open streams a caller, each with ${count(subscriptions.MOST_URIS)} URIs`,
    ],
    ['`resources/list`', `pages of ${count(listedResources.PAGE)}`],
    ['`completion/complete`', `${completion.MOST} suggestions`],
  ],
  'Sign-in': [
    [
      'attempts per minute and step',
      `${attempts.PER_ADDRESS} from one address (IPv6: one /64), ${attempts.PER_EMAIL_AND_ADDRESS} for one e-mail from there, ${attempts.PER_EMAIL} for one e-mail from all addresses`,
    ],
    ['session', time(sessions.SESSION_MS)],
    ['link and ID token', `${time(issuer.SIGN_IN_MS)}, once`],
    ['fresh sign-in', time(fresh.FRESH_MS)],
    ['passkeys', `${passkeys.MOST_PASSKEYS} a person; ${time(challenges.CHALLENGE_MS)} to answer a challenge`],
    ['clocks of issuer and server', `may differ by ${seconds(idToken.CLOCK_SKEW_SECONDS)}`],
  ],
  OAuth: [
    ['access token', seconds(provider.lifetimes.AccessToken)],
    ['authorization code', seconds(provider.lifetimes.AuthorizationCode)],
    ['refresh token', `${seconds(provider.lifetimes.RefreshToken)} without use`],
    ['connected app', `${seconds(provider.lifetimes.Grant)}; then the person is asked again`],
    [
      'authorization requests',
      `${requests.AUTHORIZATIONS_PER_MINUTE} a minute from one address; each waits ${seconds(provider.lifetimes.Interaction)} for its person`,
    ],
    ['token of a capsule at the consent page', `${tokenProofs.TRIES_A_MINUTE} tries a minute from one address`],
    [
      'registrations',
      `${registration.PER_ADDRESS} a minute from one address (IPv6: one /64), ${count(registration.IN_ALL)} in all`,
    ],
    [
      'unused clients',
      `deleted after ${time(clients.UNUSED_MS)}, or when there are more than ${count(clients.MOST_UNUSED)}; connected ones ${time(clients.LAPSED_MS)} after their last use`,
    ],
    [
      'client ID metadata documents',
      `${bytes(documents.LARGEST_DOCUMENT)}, ${time(documents.DEADLINE_MS)}, no redirects; ${documents.FETCHES_FOR_ONE_ADDRESS} fetches a minute for one address, ${count(documents.FETCHES_PER_MINUTE)} in all; cached for ${time(documents.SHORTEST_KEPT_MS)} to ${time(documents.LONGEST_KEPT_MS)}`,
    ],
  ],
};
