/** What a registry of MCP servers and hosts with plugins read of a version. Both name the version, so they are made of `package.json`. */
import { readFileSync } from 'node:fs';

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** By it a registry knows that the package and the entry are of the same people. */
  readonly mcpName: string;
}

const LOCAL = 'http://127.0.0.1:3000';

export function manifests(): { path: string; text: string }[] {
  const own: Package = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return Object.entries({
    'facade/deploy/server.json': registryEntry(own),
    '.claude-plugin/plugin.json': plugin(own),
  }).map(([path, manifest]) => ({ path, text: `${JSON.stringify(manifest, null, 2)}\n` }));
}

/** The stdio door of the package, and any server that others reach. */
function registryEntry({ name, version, mcpName }: Package): object {
  const variable = (of: string, description: string, more: object = {}) => ({ name: of, description, ...more });
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: mcpName,
    title: name,
    description: 'Manage AI agents, skills, flows, memories, threads, users, analytics and access. Self-hosted.',
    version,
    packages: [
      {
        registryType: 'npm',
        identifier: name,
        version,
        transport: { type: 'stdio' },
        packageArguments: [{ type: 'positional', value: 'stdio' }],
        environmentVariables: [
          variable('BASE_URL', 'Address of your running server.', { default: LOCAL }),
          variable('API_KEY', 'A key of your server, or the token of a capsule.', { isRequired: true, isSecret: true }),
          variable('CAPSULE_ID', 'The capsule whose token it is, cap_...'),
          variable('MODE', 'search: three tools that lead to all others, for hosts that take few.', {
            placeholder: 'search',
          }),
        ],
      },
    ],
    remotes: [
      {
        type: 'streamable-http',
        url: 'https://{host}/api/v1/mcp',
        variables: { host: { description: 'Host name of your server.', isRequired: true } },
      },
    ],
  };
}

/** For Claude Code: the address is asked for once, and the rights by a sign-in. */
function plugin({ name, version, license }: Package): object {
  return {
    name,
    version,
    description: 'Manage your AI agents, their skills, flows, memories, threads, users and reports from the chat.',
    author: { name },
    license,
    userConfig: {
      address: {
        type: 'string',
        title: 'Address',
        description: 'The MCP address of your server, or of a capsule. You sign in there and choose what may be done.',
        default: `${LOCAL}/api/v1/mcp`,
        required: true,
      },
    },
    mcpServers: { [name]: { type: 'http', url: `\${user_config.address}` } },
  };
}
