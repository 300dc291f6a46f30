import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Whether this is the package that npm installed, and not the project's own folder. */
const isInstalled = /[\\/]node_modules[\\/]/.test(root);

/** What the operator types to run a command, without its arguments: `npm run tool --`, or `npx agent-admin tool`. */
export function howToRun(command: string): string {
  if (isInstalled) return `npx agent-admin ${command}`;
  return command === 'start' ? 'npm start' : `npm run ${command} --`;
}

export function stdioProgram(): { readonly command: string; readonly args: readonly string[] } {
  // npx and the like make and remove their folders as they please.
  if (/[\\/](_npx|dlx|bunx)[\\/-]/.test(root)) return { command: 'npx', args: ['-y', 'agent-admin', 'stdio'] };
  return { command: process.execPath, args: [`${root}facade/launch/launch.mjs`, 'commands/stdio'] };
}
