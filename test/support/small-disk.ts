import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedLast } from './at-end.ts';

/** A disk of a few megabytes, which can be filled. */
export interface SmallDisk {
  /** On the disk. Any process may use it. */
  readonly folder: string;
  /** Leaves no room, down to the last block. */
  fill(): void;
  free(): void;
  close(): Promise<void>;
}

const READY = 'mounted';
const FILLED_AT_ONCE = 1 << 20;
/** Ends with this process, however that ends, and takes the disk away. */
const HOLDER = `mount -t tmpfs -o size="$1"m tmpfs "$0" && echo ${READY} && cat; umount -l "$0"; rmdir "$0"`;

/** Undefined where the machine permits no mounts. */
export async function openSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const root = mkdtempSync(join(tmpdir(), 'agent-admin-disk-'));
  const holder = spawn('sh', ['-c', HOLDER, root, String(megabytes)], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(holder, 'exit');
  const isMounted = await new Promise<boolean>((resolve) => {
    holder.stdout.on('data', (said) => resolve(String(said).includes(READY)));
    void ended.then(() => resolve(false));
  });
  const close = closedLast(async () => {
    holder.stdin.end();
    await ended;
  });
  if (!isMounted) return undefined;
  const folder = join(root, 'data');
  mkdirSync(folder);
  chmodSync(folder, 0o777); // for servers that do not run as this user
  chmodSync(root, 0o755);
  const filler = join(root, 'filler');
  return { folder, fill: () => fillUp(root, filler), free: () => unlinkSync(filler), close };
}

function fillUp(root: string, filler: string): void {
  const block = Buffer.alloc(FILLED_AT_ONCE);
  for (;;) {
    const { bavail, bsize } = statfsSync(root);
    const room = bavail * bsize;
    if (room === 0) return;
    try {
      writeFileSync(filler, block.subarray(0, Math.min(room, block.length)), { flag: 'a' });
    } catch {
      // Others took what was left in between.
    }
  }
}
