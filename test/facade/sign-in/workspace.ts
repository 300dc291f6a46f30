import { mustCall } from '../../support/calls.ts';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { startTestServer, type TestServer } from '../../support/server.ts';
import { WebClient, type WebPage } from '../../support/web-client.ts';

export const ADA = 'ada@example.com';

export interface Workspace extends TestServer {
  readonly mail: MailServer;
  readonly adaId: string;
}

export async function startWorkspace(env: Record<string, string> = {}): Promise<Workspace> {
  const mail = await startMailServer();
  const server = await startTestServer({ SMTP_URL: mail.url, MAIL_FROM: 'admin@example.com', ...env });
  const { id } = await mustCall(server, server.adminKey, 'create_admin_user', {
    email: ADA,
    name: 'Ada',
    role: 'admin',
  });
  return {
    ...server,
    mail,
    adaId: id,
    async close() {
      await server.close();
      await mail.close();
    },
  };
}

export async function nextLink({ mail }: Workspace): Promise<string> {
  const { text } = await mail.next();
  const [link] = /https?:\/\/\S+/.exec(text) ?? [];
  if (!link) throw new Error(`no link in the mail: ${text}`);
  return link;
}

export async function askForLink(workspace: Workspace, email: string, client = new WebClient()): Promise<WebPage> {
  await client.open(`${workspace.baseUrl}/sign-in`);
  return client.send({ email });
}

export async function signInByMail(workspace: Workspace, email = ADA, client = new WebClient()): Promise<WebClient> {
  await askForLink(workspace, email, client);
  await client.open(await nextLink(workspace));
  await client.send();
  return client;
}

/** Tool and outcome of the latest entries of the sign-in pages and tools, oldest first, and what was said of them. */
export async function signInAudit(
  server: TestServer,
): Promise<{ tool: string; outcome: string; door: string; principal: string }[]> {
  const { data } = await mustCall(server, server.adminKey, 'list_audit_entries', { limit: 100 });
  const told = data.filter(({ tool }: { tool: string }) => /^sign_in_|_session$/.test(tool));
  return told
    .reverse()
    .map(
      ({
        tool,
        outcome,
        door,
        principal,
      }: {
        tool: string;
        outcome: string;
        door: string;
        principal: { type: string };
      }) => ({ tool, outcome, door, principal: principal.type }),
    );
}
