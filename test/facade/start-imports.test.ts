import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** What is loaded before the first line of a file runs: our files and packages, by their static imports. */
function loadedBy(entry: string): { files: Set<string>; packages: Set<string> } {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  const follow = (url: URL): void => {
    if (files.has(url.pathname)) return;
    files.add(url.pathname);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export)(?! type\b)[^;]*?['"]([^'"]+)['"];/gm)) {
      if (name.startsWith('.')) follow(new URL(name, url));
      else packages.add(name);
    }
  };
  follow(new URL(`../../facade/${entry}.ts`, import.meta.url));
  return { files, packages };
}

describe('what a process loads at its start', () => {
  it('is no library of models, which the first question to one loads', () => {
    for (const entry of 'main commands/demo commands/stdio commands/import commands/tool commands/backup'.split(' ')) {
      const { packages } = loadedBy(entry);
      assert.ok(packages.size > 0, entry);
      assert.deepEqual(
        [...packages].filter((name) => /^ai$|^@ai-sdk\//.test(name)),
        [],
        entry,
      );
    }
  });

  it('is nothing of OpenTelemetry, which is loaded where traces or metrics are sent', () => {
    const { files, packages } = loadedBy('main');
    assert.ok([...files].some((name) => name.endsWith('/facade/telemetry/telemetry.ts')));
    assert.deepEqual(
      [...packages].filter((name) => name.startsWith('@opentelemetry/')),
      [],
    );
  });

  it('is nothing of MCP for the commands that speak none', () => {
    for (const entry of ['tool', 'import', 'backup', 'recover-key'].map((name) => `commands/${name}`)) {
      const { files, packages } = loadedBy(entry);
      assert.deepEqual(
        [...packages].filter((name) => name.startsWith('@modelcontextprotocol/')),
        [],
        entry,
      );
      assert.deepEqual(
        [...files].filter((name) => name.endsWith('/tools/catalog.ts')),
        [],
        entry,
      );
    }
  });
});
