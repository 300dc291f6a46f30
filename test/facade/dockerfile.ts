import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

interface Step {
  readonly instruction: string;
  readonly text: string;
}

export interface BuildStage {
  readonly name: string;
  readonly steps: readonly Step[];
}

export function stagesOf(dockerfile: string): BuildStage[] {
  const stages: { name: string; steps: Step[] }[] = [];
  for (const line of dockerfile.replaceAll('\\\n', ' ').split('\n')) {
    const [, instruction = '', text = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (instruction === 'FROM') stages.push({ name: / AS (\w+)$/.exec(text)?.[1] ?? '', steps: [] });
    else if (instruction && stages.length > 0) stages.at(-1)?.steps.push({ instruction, text });
  }
  return stages;
}

export const textsOf = ({ steps }: BuildStage, instruction: string) =>
  steps.filter((step) => step.instruction === instruction).map(({ text }) => text);

export function copyOf(text: string) {
  const words = text.split(' ');
  const paths = words.filter((word) => !word.startsWith('--'));
  const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? '' };
}

/** What a build sees of the project: the entries that .dockerignore lets through. */
export function contextOf(): string[] {
  const lines = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  assert.ok(lines.includes('*'), 'all else is left out');
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
}

/**
 * Carries out the stages, each in a folder of its own below `folder` that stands for the root of its file system. Returns the folder of
 * the image.
 */
export function carryOut(stages: readonly BuildStage[], folder: string): string {
  const context = join(folder, 'context');
  for (const path of contextOf()) cpSync(join(root, path), join(context, path), { recursive: true });
  for (const [at, stage] of stages.entries()) {
    const own = join(folder, stage.name || `stage-${at}`);
    let workdir = own;
    for (const { instruction, text } of stage.steps) {
      if (instruction === 'WORKDIR') {
        workdir = join(own, text);
        mkdirSync(workdir, { recursive: true });
      }
      if (instruction === 'COPY') copy(text, { folder, context, own, workdir });
      // Paths from the root are those of the stage.
      if (instruction === 'RUN') {
        const command = text.replaceAll(/(?<=\s)\/(?=\w)/g, `${own}/`);
        execFileSync('sh', ['-c', command], { cwd: workdir, stdio: ['ignore', 'ignore', 'inherit'] });
      }
    }
    if (at === stages.length - 1) return own;
  }
  return assert.fail('The Dockerfile has no stage.');
}

interface Places {
  readonly folder: string;
  readonly context: string;
  readonly own: string;
  readonly workdir: string;
}

function copy(text: string, { folder, context, own, workdir }: Places): void {
  const { from, sources, target } = copyOf(text);
  const to = target.startsWith('/') ? join(own, target) : join(workdir, target);
  for (const source of sources) {
    const path = from ? join(folder, from, source) : join(context, source);
    assert.ok(existsSync(path), path);
    const into = statSync(path).isDirectory() ? to : join(to, basename(path));
    mkdirSync(dirname(into), { recursive: true });
    cpSync(path, into, { recursive: true, verbatimSymlinks: true });
  }
}
