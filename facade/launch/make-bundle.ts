import { bundlePrograms } from './bundle.ts';

/** As long as a start takes without a word. */
const QUIET_MS = 2000;

/** Makes the bundle that `launch.mjs` runs, or none where the folder cannot be written. */
const [cache = '', folder = ''] = process.argv.slice(2);
const telling = setTimeout(() => console.error('Starting: bundling the programs, as their sources are new.'), QUIET_MS);
await bundlePrograms(cache, folder);
clearTimeout(telling);
