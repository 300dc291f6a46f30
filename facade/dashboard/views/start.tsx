import '../style/view.css';
import { type ComponentType, render } from 'preact';
import { boot } from '../boot.ts';
import { outputIn, type ToolResult } from '../client.ts';
import { Boundary, ErrorBox } from '../components/error-box.tsx';
import { Empty, Skeleton } from '../components/small.tsx';
import { followLinks, type HostContext, host, listen, meetHost, notify, withStructure } from './host.ts';

export type Members = Readonly<Record<string, unknown>>;

/** One call of a tool, to be shown. */
export interface ShownCall<Output = Members> {
  /** Undefined if the host does not say. */
  readonly tool: string | undefined;
  readonly input: Members;
  readonly output: Output;
}

interface State {
  readonly input?: Members;
  readonly result?: ToolResult;
  readonly cancelled?: boolean;
  /** Why there is no host. */
  readonly failure?: unknown;
}

/**
 * Shows in this page whatever the host passes on: the input of a call, and what came of it. `Output`: what the tools answer whose page this
 * is.
 */
export function start<Output extends object = Members>(View: ComponentType<ShownCall<Output>>): void {
  const app = document.getElementById('app');
  if (!app) return;
  let state: State = {};
  let count = 0;
  const draw = (change: State) => {
    state = { ...state, ...change };
    if (change.result) count += 1;
    render(
      <main class="view">
        <Boundary key={count}>
          <Current {...state} View={View} />
        </Boundary>
      </main>,
      app,
    );
  };
  listen({
    'ui/notifications/tool-input': ({ arguments: given }) => draw({ input: (given ?? {}) as Members }),
    'ui/notifications/tool-result': (result) => draw({ result }),
    'ui/notifications/tool-cancelled': () => draw({ cancelled: true }),
    'ui/notifications/host-context-changed': (changed) => {
      host.context = { ...host.context, ...(changed as HostContext) };
      wearTheme(host.context);
    },
    'ui/resource-teardown': () => {},
    ping: () => {},
  });
  draw({});
  followLinks();
  const begin = () => {
    wearTheme(host.context);
    document.documentElement.classList.toggle('without-links', !host.capabilities.openLinks);
    notify('ui/notifications/initialized');
    tellSize();
  };
  void meetHost(boot.version).then(begin, (failure) => draw({ failure }));
}

function Current<Output extends object>({
  View,
  input = {},
  result,
  cancelled,
  failure,
}: State & { readonly View: ComponentType<ShownCall<Output>> }) {
  if (failure !== undefined) return <ErrorBox error={failure} />;
  if (!result) {
    return cancelled ? (
      <Empty title="Cancelled">The call ended before there was an answer.</Empty>
    ) : (
      <Skeleton lines={5} />
    );
  }
  const tool = host.context.toolInfo?.tool?.name;
  try {
    const output = outputIn(tool ?? '', withStructure(result));
    return <View tool={tool} input={input} output={output as Output} />; // as its tools declare it
  } catch (error) {
    return <ErrorBox error={error} />;
  }
}

/** Keeps telling the host how high the page is. */
function tellSize(): void {
  let told = 0;
  const tell = () => {
    const height = Math.ceil(document.body.getBoundingClientRect().height);
    if (height === told) return;
    told = height;
    notify('ui/notifications/size-changed', { height });
  };
  new ResizeObserver(tell).observe(document.body);
  tell();
}

/**
 * Takes on the look of the host. Its light or dark is its own, not that of the system. Variables that it gives for its colours and fonts are
 * used by `view.css`.
 */
function wearTheme({ theme, styles }: HostContext): void {
  const { documentElement: root } = document;
  if (theme === 'light' || theme === 'dark') root.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (/^--(color|font)-[\w-]+$/.test(name) && typeof value === 'string') root.style.setProperty(name, value);
  }
  dispatchEvent(new Event('themechange'));
}
