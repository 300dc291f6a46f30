import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder that is removed when the test ends. */
export async function testFolder(test: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  test.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'agent-admin-store-'));
}
