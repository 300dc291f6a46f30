import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedAtEnd, killedAtEnd } from './at-end.ts';
import { notRoot } from './postgres.ts';

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

/**
 * Undefined where the machine permits no mounts. The mount is in a namespace of its own, and is gone with the process that holds it; others get there by
 * that process's root.
 */
export async function openSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const place = mkdtempSync(join(tmpdir(), 'agent-admin-disk-'));
  // Servers that do not run as root may only look into a namespace of their own user.
  const user = notRoot();
  const owner = user ? `,uid=${user.uid},gid=${user.gid}` : '';
  const drop = user ? `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups ` : '';
  const script = `mount -t tmpfs -o size=${megabytes}m${owner} tmpfs "$0" && echo ${READY} && exec ${drop}sleep infinity`;
  const namespace = user ? ['--mount'] : ['--user', '--map-root-user', '--mount'];
  const holder = killedAtEnd(spawn('unshare', [...namespace, 'sh', '-c', script, place]));
  const isMounted = await new Promise<boolean>((resolve) => {
    holder.stdout.on('data', (said) => resolve(String(said).includes(READY)));
    holder.once('error', () => resolve(false));
    holder.once('exit', () => resolve(false));
  });
  const close = closedAtEnd(async () => {
    holder.kill('SIGKILL');
    rmSync(place, { recursive: true, force: true });
  });
  if (!isMounted) {
    await close();
    return undefined;
  }
  const root = `/proc/${holder.pid}/root${place}`;
  const folder = join(root, 'data');
  mkdirSync(folder, { mode: 0o777 });
  const filler = join(root, 'filler');
  return {
    folder,
    fill: () => fillUp(root, filler),
    free: () => unlinkSync(filler),
    close,
  };
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
