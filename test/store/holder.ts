import { openLowdbStore } from '../../store/lowdb/open.ts';

/** Opens a folder and holds it until it is killed. Run by the lock test as a process of its own. */
await openLowdbStore({ folder: process.argv[2] ?? '' });
process.stdout.write('open\n');
setInterval(() => {}, 1000);
