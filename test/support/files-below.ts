import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The paths of the files below a folder, without packages, which are not ours. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules')
    .flatMap((entry) =>
      entry.isDirectory() ? filesBelow(join(folder, entry.name)).map((path) => join(entry.name, path)) : [entry.name],
    );
}
