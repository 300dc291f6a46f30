import { bundlePrograms } from './bundle.ts';

/** Makes the bundle that `launch.mjs` runs, or none where the folder cannot be written. */
const [cache = '', folder = ''] = process.argv.slice(2);
await bundlePrograms(cache, folder);
