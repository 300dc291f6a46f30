import '../style/flows.css';
import '../style/overlay.css';
import { useState } from 'preact/hooks';
import { Ref } from '../components/value.tsx';
import type { Run } from '../pages/flows/run.ts';
import { RunDetail } from '../pages/flows/run-detail.tsx';
import { pathOfRuns, RunList, type RunsAsked } from '../pages/flows/runs.tsx';
import { usePlace } from '../router.ts';
import { keepAnswer, useAnswer } from '../store.ts';
import { useMay } from '../tools.ts';
import { beginAt, showHere } from './host/router.ts';
import { RunAgain } from './run-again.tsx';
import { type Members, type ShownCall, start } from './start.tsx';

/** A run with its steps, or the runs of flows, of which each can be opened. */
function RunView({ input, output }: ShownCall) {
  const list = 'data' in output ? listAsked(input) : undefined;
  useState(() => {
    showHere((path) => /^\/flows\/[^/?]+\?tab=runs/.test(path));
    if (list) {
      beginAt('/flows');
      keepAnswer('list_flow_runs', list, output);
    } else {
      beginAt('/flows', { run: String(output.id) });
      keepAnswer('get_flow_run', { id: output.id }, output);
    }
  });
  const open = usePlace().query.get('run');
  if (open !== null) return <OneRun id={open} hasList={list !== undefined} />;
  const asked = list ?? { id: String(output.flowId), limit: 50 };
  return (
    <>
      <Heading flowId={asked.id} words="Runs" />
      <RunList asked={asked} />
    </>
  );
}

/** The list as it was asked for, from its beginning. */
function listAsked({ cursor: _, ...input }: Members): RunsAsked {
  return input;
}

function OneRun({ id, hasList }: { readonly id: string; readonly hasList: boolean }) {
  const { data } = useAnswer<Run>('get_flow_run', { id });
  const mayList = useMay('list_flow_runs');
  return (
    <>
      <Heading flowId={data?.flowId} words="Run" />
      <RunDetail id={id} back={data && (hasList || mayList) ? pathOfRuns(data.flowId) : undefined} />
      {data && <RunAgain key={id} run={data} />}
    </>
  );
}

function Heading({ flowId, words }: { readonly flowId: string | undefined; readonly words: string }) {
  return (
    <header class="view-head">
      <h1>{words}</h1>
      {flowId !== undefined && (
        <p class="quiet">
          <Ref id={flowId} />
        </p>
      )}
    </header>
  );
}

start(RunView);
