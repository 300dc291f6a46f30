import { readFileSync } from 'node:fs';

interface Command {
  readonly about: string;
  readonly run: () => Promise<unknown>;
}

/** All of them, in the order in which help shows them. A module of a command runs it when it is loaded. */
const commands: Readonly<Record<string, Command>> = {
  start: { about: 'runs the server on the data folder', run: () => import('../main.ts') },
  demo: { about: 'runs a server on a demo workspace, which ends with it', run: () => import('./demo.ts') },
  tool: { about: 'calls a tool of the running server', run: () => import('./tool.ts') },
  import: { about: 'loads rows from a file into the running server', run: () => import('./import.ts') },
  stdio: { about: 'is the stdio door of the running server, for MCP clients', run: () => import('./stdio.ts') },
  backup: { about: 'copies the data folder, also while the server runs', run: () => import('./backup.ts') },
  export: { about: 'writes all that is stored into a file, for another store', run: () => import('./export.ts') },
  'import-all': { about: 'puts such a file into an empty store', run: () => import('./import-all.ts') },
  'export-audit': {
    about: 'prints the audit entries of the running server as NDJSON',
    run: () => import('./export-audit.ts'),
  },
  'verify-audit': {
    about: 'checks a copied audit log, without a server: 1 where it was changed',
    run: () => import('./verify-audit.ts'),
  },
  doctor: { about: 'checks this set-up and says what to do', run: () => import('./doctor.ts') },
  'recover-key': { about: 'makes an admin key when all are lost', run: () => import('./recover-key.ts') },
};

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
With --help, a command says what it takes.`;

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
