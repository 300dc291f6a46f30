import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** A host of MCP Apps in the browser: the SDK's own bridge, and the official client. */
const EXTENSION = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
const POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

const { url, token } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
const client = new Client(
  { name: 'host', version: '1' },
  { capabilities: { extensions: EXTENSION }, versionNegotiation: { mode: 'auto' } },
);
const requestInit = { headers: { Authorization: `Bearer ${token}` } };
const connected = client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));

/** What the page asked of the host. */
const asked = { calls: [], links: [], messages: [], heights: [] };
let bridge;

addEventListener('message', ({ data }) => {
  if (data?.method === 'tools/call') asked.calls.push(data.params);
});

/** Calls the tool and shows its answer in the page that the tool names. */
async function show(name, input, { theme = 'light', variables, withoutStructure = false, capabilities } = {}) {
  await connected;
  const tool = (await client.listTools()).tools.find((each) => each.name === name);
  const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri });
  const result = await client.callTool({ name, arguments: input });
  document.querySelector('iframe')?.remove();
  for (const list of Object.values(asked)) list.length = 0;
  const frame = document.createElement('iframe');
  frame.sandbox = 'allow-scripts';
  frame.title = name;
  document.body.style.background = theme === 'dark' ? '#16191d' : '#fff';
  document.body.append(frame);
  bridge = new AppBridge(client, { name: 'host', version: '1' }, capabilities ?? { openLinks: {}, serverTools: {} }, {
    hostContext: { theme, toolInfo: { tool }, ...(variables && { styles: { variables } }) },
  });
  bridge.onopenlink = async (params) => {
    asked.links.push(params.url);
    return {};
  };
  bridge.onmessage = async (params) => {
    asked.messages.push(params);
    return {};
  };
  bridge.addEventListener('sizechange', ({ height }) => {
    asked.heights.push(height);
    frame.style.height = `${height}px`;
  });
  const ready = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text.replace(
    '<head>',
    `<head><meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
  );
  await ready;
  await bridge.sendToolInput({ arguments: input });
  const { structuredContent, ...text } = result;
  await bridge.sendToolResult(withoutStructure ? text : { ...text, ...(structuredContent && { structuredContent }) });
}

globalThis.host = {
  asked,
  show,
  setTheme: (theme) => bridge.setHostContext({ theme, toolInfo: bridge.hostContext?.toolInfo }),
};
