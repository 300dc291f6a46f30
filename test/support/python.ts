import { execFile, spawnSync } from 'node:child_process';

/** Why Python with these modules is not to be had here; undefined where it is. */
export function pythonLacks(...modules: readonly string[]): string | undefined {
  const { status, error } = spawnSync('python3', ['-c', modules.map((name) => `import ${name}`).join('\n')]);
  if (error) return 'python3 is not on this machine';
  return status === 0 ? undefined : `python3 on this machine lacks ${modules.join(' or ')}`;
}

/** Runs a program that reads JSON from standard input and prints JSON; its answer. */
export function runPython(program: string, input: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = execFile('python3', ['-W', 'ignore', '-c', program], { maxBuffer: 1e8 }, (error, stdout) => {
      if (error) reject(error);
      else resolve(JSON.parse(stdout));
    });
    child.stdin?.end(JSON.stringify(input));
  });
}
