import { readFileSync } from 'node:fs';
import { commands } from './programs.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string; // package.json has one
};

const HELP = `agent-admin ${version}: the administration server for AI agents

Usage: agent-admin [command] [arguments]

${Object.entries(commands)
  .map(([name, { about }]) => `  ${name.padEnd(14)}${about}`)
  .join('\n')}
  completion    prints what completes these words: source <(agent-admin completion bash), or zsh

Without a command, the server starts. Its data is in DATA_DIR, by default data/local below the current folder.
A command that needs arguments says which when it is run without.`;

const COMPLETION: Readonly<Record<string, string>> = {
  bash: `complete -W "${Object.keys(commands).join(' ')} completion --help --version" -o default agent-admin`,
  zsh: `autoload -U +X bashcompinit && bashcompinit && complete -W "${Object.keys(commands).join(' ')} completion --help --version" -o default agent-admin`,
};

/** The installed program: `agent-admin <command>`. The command finds its own arguments where a program of its own has them. */
async function main(): Promise<void> {
  const [name = 'start', argument = ''] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) {
    process.argv.splice(2, 1);
    await command.run();
  } else if (name === '--help' || name === '-h' || name === 'help') console.log(HELP);
  else if (name === '--version' || name === '-v') console.log(version);
  else if (name === 'completion' && COMPLETION[argument]) console.log(COMPLETION[argument]);
  else {
    console.error(name === 'completion' ? 'Name the shell: bash or zsh.' : `There is no command "${name}".\n\n${HELP}`);
    process.exitCode = 2;
  }
}

await main();
