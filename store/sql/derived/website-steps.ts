import type { DerivedTable } from '../derived-table.ts';
import { createTable } from '../raw-tables.ts';

/**
 * A website's way from state to state: a draft from its creation, then what each statement says, from its own time on but never before the
 * creation. The first statement also says when the site was published, if it has a time of publication: what is suspended now was published
 * before. Of several states at one time the last counts, and a step to the same state is none.
 */
const steps = (websites: string) => `
  insert into website_steps
  with said as (
    select w.*, first_value(w.created_ms) over (partition by id order by place) as born_ms
    from ${websites} as w
  ),
  stated as (
    select id, 0 as place, 0 as turn, born_ms as time_ms, 'draft' as state from said where place = 0
    union all
    select id, place, 1, greatest(born_ms, least(from_ms, published_ms)), 'published'
    from said where place = 0 and published_ms is not null
    union all
    select id, place, 2, greatest(born_ms, from_ms), state from said
  ),
  lasting as (
    select id, place, turn, time_ms, state, lead(time_ms) over (partition by id order by place, turn) as next_ms from stated
  ),
  compared as (
    select id, time_ms, state, lag(state) over (partition by id order by time_ms) as state_before
    from lasting
    where next_ms is null or next_ms <> time_ms
  )
  select id, time_ms, state, state_before from compared where state_before is null or state <> state_before`;

export const websiteSteps: DerivedTable = {
  name: 'website_steps',
  ddl: [createTable('website_steps', { id: 'text', time_ms: 'bigint', state: 'text', state_before: 'text' })],
  follows: ['websites'],
  renew: [
    'delete from website_steps where id in (select id from touched_websites)',
    steps('(select * from website_states where id in (select id from touched_websites))'),
  ],
  rebuild: [steps('website_states')],
};
