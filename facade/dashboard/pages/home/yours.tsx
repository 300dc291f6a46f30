import type { Agent } from '../../../../resources/agent.ts';
import type { Project } from '../../../../resources/project.ts';
import type { Thread } from '../../../../resources/thread.ts';
import { at, useMay } from '../../app.ts';
import { Icon, type IconName, Link, Time } from '../../ui.ts';
import { useHomeList } from './use-home.ts';

const MOST = 6;

type Owned = Readonly<{ id: string; name: string; time?: string | undefined }>;

/** Where somebody goes on: the threads of all, and for those who administer nothing the agents and projects that they have. */
export function Yours() {
  const administers = useMay('get_usage');
  const threads = useHomeList<Thread>('threads').rows.map(({ id, title, lastMessageAt, createdAt }) => ({
    ...{ id, name: title },
    time: lastMessageAt ?? createdAt,
  }));
  const agents = useHomeList<Agent>('agents').rows.map(({ id, displayName }) => ({ id, name: displayName }));
  const projects = useHomeList<Project>('projects').rows.map(({ id, name }) => ({ id, name }));
  return (
    <>
      <Some title="Threads" path="/chat" icon="chat" all={threads} />
      {!administers && <Some title="Agents" path="/agents" icon="agent" all={agents} />}
      {!administers && <Some title="Projects" path="/projects" icon="project" all={projects} />}
    </>
  );
}

type SomeProps = Readonly<{ title: string; path: string; icon: IconName; all: readonly Owned[] }>;

function Some({ title, path, icon, all }: SomeProps) {
  if (all.length === 0) return null;
  return (
    <section class="card" aria-label={title}>
      <header class="card-head">
        <h2>{title}</h2>
        <Link to={path}>All</Link>
      </header>
      <ul class="happened">
        {all.slice(0, MOST).map(({ id, name, time }) => (
          <li key={id}>
            <a class="happened-row" href={at(`${path}/${encodeURIComponent(id)}`)}>
              <Icon name={icon} />
              <span class="happened-words own">{name}</span>
              <span class="happened-time">{time !== undefined && <Time at={time} />}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
