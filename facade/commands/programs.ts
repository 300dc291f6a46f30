/** A command of the installed program: `agent-admin <name>`. */
interface Command {
  readonly about: string;
  readonly run: () => Promise<unknown>;
}

/** All of them, in the order in which help shows them. A module of a command runs it when it is loaded. */
export const commands: Readonly<Record<string, Command>> = {
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
  doctor: { about: 'checks this set-up and says what to do', run: () => import('./doctor.ts') },
  'recover-key': { about: 'makes an admin key when all are lost', run: () => import('./recover-key.ts') },
};
