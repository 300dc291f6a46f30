import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { MANIFEST } from '../../store/lowdb/files/folder.ts';

/** A folder that is removed when the test ends. */
export async function testFolder(test: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  test.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Leaves the folder as a version without manifests would, or an operator who accepts a loss: nobody knows how far the files reached. */
export async function withoutManifest(folder: string): Promise<void> {
  await rm(join(folder, MANIFEST), { force: true });
}

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'agent-admin-store-'));
}
