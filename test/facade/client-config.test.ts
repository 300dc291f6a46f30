import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readClientConfig } from '../../facade/commands/client-config.ts';

const TOKEN = `cpt_12345678_${'x'.repeat(43)}`;
const urlOf = (env: NodeJS.ProcessEnv) => String(readClientConfig(env).mcpUrl);

describe('the environment of the commands beside the server', () => {
  it('leads to the unified endpoint, or to that of a capsule with its token', () => {
    for (const [env, url] of [
      [{ API_KEY: 'ak_x' }, 'http://127.0.0.1:3000/api/v1/mcp'],
      [{ API_KEY: ' ak_x ', BASE_URL: ' ', CAPSULE_ID: '' }, 'http://127.0.0.1:3000/api/v1/mcp'],
      [{ API_KEY: 'ak_x', BASE_URL: 'https://x.example/at/' }, 'https://x.example/at/api/v1/mcp'],
      [{ API_KEY: 'ak_x', BASE_URL: 'https://x.example/at/api/v1/mcp' }, 'https://x.example/at/api/v1/mcp'],
      [{ API_KEY: 'ak_x', MODE: 'search' }, 'http://127.0.0.1:3000/api/v1/mcp?mode=search'],
      [
        { API_KEY: 'ak_x', BASE_URL: 'http://x.example/api/v1/mcp?groups=skills' },
        'http://x.example/api/v1/mcp?groups=skills',
      ],
      [{ API_KEY: TOKEN, CAPSULE_ID: 'cap_1' }, 'http://127.0.0.1:3000/api/capsules/cap_1/mcp'],
      [
        { API_KEY: TOKEN, BASE_URL: 'http://x.example/at/api/capsules/cap_1/mcp', MODE: 'search' },
        'http://x.example/at/api/capsules/cap_1/mcp?mode=search',
      ],
      [
        { API_KEY: TOKEN, BASE_URL: 'http://x.example/api/capsules/cap_1/mcp/', CAPSULE_ID: 'cap_1' },
        'http://x.example/api/capsules/cap_1/mcp',
      ],
    ] as const) {
      assert.equal(urlOf(env), url);
    }
    assert.equal(readClientConfig({ API_KEY: ' ak_x ' }).apiKey, 'ak_x');
  });

  it('is refused where it leads nowhere, and says what to set', () => {
    for (const [env, said] of [
      [{}, /API_KEY: must hold an API key .* or the token of a capsule/],
      [{ API_KEY: TOKEN }, /API_KEY: is the token of a capsule; set CAPSULE_ID/],
      [{ API_KEY: TOKEN, BASE_URL: 'http://x.example/api/v1/mcp' }, /set CAPSULE_ID/],
      [{ API_KEY: 'ak_x', CAPSULE_ID: 'cap_1' }, /must hold the token of the capsule cap_1/],
      [{ API_KEY: 'ak_x', BASE_URL: 'http://x.example/api/capsules/cap_1/mcp' }, /the token of the capsule cap_1/],
      [
        { API_KEY: TOKEN, BASE_URL: 'http://x.example/api/capsules/cap_1/mcp', CAPSULE_ID: 'cap_2' },
        /CAPSULE_ID: is cap_2, but BASE_URL is the address of the capsule cap_1/,
      ],
      [{ API_KEY: 'ak_x', MODE: 'seach' }, /MODE: is search, .* or not set/],
      [{ API_KEY: 'ak_x', BASE_URL: 'ftp://x' }, /BASE_URL: must be an http or https URL/],
    ] as const) {
      assert.throws(() => urlOf(env), said);
    }
  });
});
