import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { MANIFEST } from '../../store/lowdb/files/folder.ts';
import { type LowdbOptions, openLowdbStore } from '../../store/lowdb/open.ts';
import type { Store } from '../../store/port.ts';

/** By folder, the stores that were opened in it. */
const opened = new Map<string, Store[]>();

/** A folder that is removed when the test ends, after its stores are closed. */
export async function testFolder(test: TestContext): Promise<string> {
  const folder = await temporaryFolder();
  test.after(async () => {
    await Promise.allSettled((opened.get(folder) ?? []).map((store) => store.close()));
    opened.delete(folder);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A store in the folder of a test, which closes it where the test does not. */
export async function openIn(folder: string, options: Omit<LowdbOptions, 'folder'> = {}): Promise<Store> {
  const store = await openLowdbStore({ folder, ...options });
  opened.set(folder, [...(opened.get(folder) ?? []), store]);
  return store;
}

/** Leaves the folder as a version without manifests would, or an operator who accepts a loss: nobody knows how far the files reached. */
export async function withoutManifest(folder: string): Promise<void> {
  await rm(join(folder, MANIFEST), { force: true });
}

export async function temporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'agent-admin-store-'));
}
