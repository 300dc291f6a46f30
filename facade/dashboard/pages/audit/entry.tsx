import { Avatar, Badge, Mono, Time } from '../../components/small.tsx';
import type { CallerRef } from '../../ui.ts';

/** One call, as `list_audit_entries` answers it. */
export interface Entry {
  readonly id: string;
  readonly at: string;
  readonly tool: string;
  readonly outcome: string;
  readonly code?: string;
  readonly door: string;
  readonly requestId: string;
  readonly sessionId?: string;
  readonly principal: CallerRef;
  readonly onBehalfOf?: readonly CallerRef[];
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly recordIds?: readonly string[];
  readonly durationMs: number;
}

export const COLUMNS = [
  {
    title: 'Tool',
    cell: ({ tool, principal, outcome, code }: Entry) => (
      <span class="name-words">
        <Mono>{tool}</Mono>
        <span class="name-more by">
          {principal.name} {outcome !== 'ok' && <Badge value={outcome}>{code}</Badge>}
        </span>
      </span>
    ),
  },
  {
    title: 'Who',
    cell: ({ principal: { name, type } }: Entry) => (
      <span class="name">
        <Avatar name={name} size="s" />
        <span class="name-words">
          <span class="name-title">{name}</span>
          <span class="name-more">{type}</span>
        </span>
      </span>
    ),
    spare: 2 as const,
  },
  {
    title: 'Outcome',
    cell: ({ outcome, code }: Entry) => <Badge value={outcome}>{outcome === 'ok' ? 'OK' : code}</Badge>,
    spare: 2 as const,
    width: '8rem',
  },
  { title: 'Via', cell: ({ door }: Entry) => door, spare: 2 as const },
  { title: 'Took', cell: ({ durationMs }: Entry) => `${Math.round(durationMs)} ms`, end: true, spare: 3 as const },
  { title: 'When', cell: ({ at }: Entry) => <Time at={at} />, end: true },
];
