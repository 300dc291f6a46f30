import { bundlePrograms } from './bundle.ts';

const QUIET_MS = 2000;

const [cache = '', folder = ''] = process.argv.slice(2);
const telling = setTimeout(() => console.error('Starting: bundling the programs, as their sources are new.'), QUIET_MS);
await bundlePrograms(cache, folder);
clearTimeout(telling);
