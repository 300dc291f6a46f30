import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, readConfig } from '../../facade/config/config.ts';

function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return [...error.message.matchAll(/^ {2}(\w+):/gm)].map(([, name]) => name ?? '');
  }
}

describe('the environment', () => {
  it('names an OpenID Connect provider whole or not at all', () => {
    const issuer = { OIDC_ISSUER: 'https://login.example.com' };
    assert.equal(readConfig({}).oidc, undefined);
    assert.deepEqual(readConfig({ ...issuer, OIDC_CLIENT_ID: 'id' }).oidc, {
      issuer: 'https://login.example.com',
      clientId: 'id',
      clientSecret: undefined,
    });
    assert.deepEqual(problemsOf(issuer), ['OIDC_CLIENT_ID']);
    assert.deepEqual(problemsOf({ OIDC_CLIENT_ID: 'id' }), ['OIDC_ISSUER']);
    assert.deepEqual(problemsOf({ OIDC_CLIENT_SECRET: 's' }), ['OIDC_ISSUER', 'OIDC_CLIENT_ID']);
  });

  it('takes a provider over https, or on this machine', () => {
    for (const OIDC_ISSUER of [
      'http://127.0.0.1:9000',
      'http://localhost/realm',
      'http://[::1]:1',
      'https://x.example',
    ]) {
      assert.deepEqual(problemsOf({ OIDC_ISSUER, OIDC_CLIENT_ID: 'id' }), [], OIDC_ISSUER);
    }
    for (const OIDC_ISSUER of ['http://x.example', 'nonsense', 'ftp://x.example', 'http://127.example.com']) {
      assert.deepEqual([...new Set(problemsOf({ OIDC_ISSUER, OIDC_CLIENT_ID: 'id' }))], ['OIDC_ISSUER'], OIDC_ISSUER);
    }
  });

  it('has every problem named at once, also those of variables that do not fit together', () => {
    const env = { PORT: 'x', OIDC_CLIENT_ID: 'id', MODEL_API_KEY: 'k', TRUSTED_PROXIES: 'all', SECRETS_KEY: 'short' };
    assert.deepEqual(problemsOf(env).sort(), 'MODEL_API_KEY OIDC_ISSUER PORT SECRETS_KEY TRUSTED_PROXIES'.split(' '));
  });

  it('takes an embedding model of the environment that is there, or of a provider that may be added later', () => {
    for (const EMBEDDING_MODEL of ['openai/text', 'lab/org/tiny', 'anthropic/x']) {
      assert.deepEqual(problemsOf({ EMBEDDING_MODEL }), [], EMBEDDING_MODEL);
    }
    for (const EMBEDDING_MODEL of ['tiny', 'lab/', '/tiny', 'custom/tiny', 'offline/rehearsal', 'anthropic/x']) {
      assert.deepEqual(problemsOf({ EMBEDDING_MODEL, ANTHROPIC_API_KEY: 'k' }), ['EMBEDDING_MODEL'], EMBEDDING_MODEL);
    }
    assert.deepEqual(problemsOf({ EMBEDDING_MODEL: 'custom/tiny', MODEL_BASE_URL: 'http://x.example' }), []);
  });

  it('takes no user and password in an address that is shown, logged or asked, and shows none', () => {
    const own = { OIDC_CLIENT_ID: 'id' };
    for (const name of [
      'BASE_URL',
      'ALLOWED_ORIGINS',
      'OIDC_ISSUER',
      'MODEL_BASE_URL',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    ]) {
      for (const address of [
        'https://user:hidden@x.example',
        'https:///user:hidden@x.example',
        'https://hidden@x.example',
      ]) {
        assert.throws(
          () => readConfig({ ...(name === 'OIDC_ISSUER' && own), [name]: address }),
          ({ message }: Error) =>
            message.includes(`${name}: must hold no user and password`) && !/hidden/.test(message),
          `${name} ${address}`,
        );
      }
    }
  });

  it('takes a database of PostgreSQL, and shows no password of a wrong one', () => {
    for (const DATABASE_URL of ['postgres://u:p@localhost/agents', 'postgresql:///agents?host=/run/postgresql', '']) {
      assert.deepEqual(problemsOf({ DATABASE_URL }), [], DATABASE_URL);
    }
    for (const DATABASE_URL of ['mysql://u:hidden@localhost/agents', 'u:hidden@localhost', 'postgres://u:hidden@:x/']) {
      assert.throws(
        () => readConfig({ DATABASE_URL }),
        ({ message }: Error) => message.includes('DATABASE_URL: must have the form') && !message.includes('hidden'),
      );
    }
    assert.deepEqual(problemsOf({ DATABASE_CONNECTIONS: '1' }), ['DATABASE_CONNECTIONS']);
    assert.deepEqual(problemsOf({ DATABASE_WAIT_SECONDS: '-1' }), ['DATABASE_WAIT_SECONDS']);
  });

  it('takes a mail server as a URL, and a sender that is an address', () => {
    assert.deepEqual(problemsOf({ SMTP_URL: 'mail.example.com', MAIL_FROM: 'nobody' }).sort(), [
      'MAIL_FROM',
      'SMTP_URL',
    ]);
    assert.deepEqual(
      problemsOf({ SMTP_URL: 'smtps://u:p@mail.example.com:465', MAIL_FROM: 'Me <me@example.com>' }),
      [],
    );
    assert.deepEqual(problemsOf({ MAIL_FROM: 'Me\r\nBcc: all@example.com <me@example.com>' }), ['MAIL_FROM']);
    assert.equal(
      readConfig({ BASE_URL: 'https://admin.example.com/x' }).mailFrom,
      'agent-admin <agent-admin@admin.example.com>',
    );
    assert.equal(readConfig({ BASE_URL: 'http://[::1]:3000' }).mailFrom, 'agent-admin <agent-admin@localhost>');
  });
});
