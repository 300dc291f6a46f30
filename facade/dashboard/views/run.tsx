import '../style/canvas.css';
import '../style/flows.css';
import '../style/overlay.css';
import { useState } from 'preact/hooks';
import type { FlowRun } from '../../../resources/flow-run.ts';
import { act, keepAnswer, useAnswer } from '../answer-cache.ts';
import { AskButton } from '../components/action.tsx';
import { Json } from '../components/code.tsx';
import { Ref } from '../components/value.tsx';
import { RunDetail } from '../pages/flows/canvas/run-canvas.tsx';
import { pathOfRuns } from '../pages/flows/run-words.ts';
import { RunList, type RunsAsked } from '../pages/flows/runs.tsx';
import { setQuery, useLocation } from '../router.ts';
import { useMay } from '../tools.ts';
import { beginAt, showHere } from './host.ts';
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
  const open = useLocation().query.get('run');
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
  const { data } = useAnswer<FlowRun>('get_flow_run', { id });
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

/** Starts the flow of a run once more, with the same input, after a question. */
function RunAgain({ run: { flowId, input, runAs, status } }: { readonly run: FlowRun }) {
  const may = useMay('trigger_flow');
  if (!may || status === 'queued' || status === 'running' || status === 'waiting') return null;
  const run = async () => {
    const { id } = await act<{ readonly id: string }>('trigger_flow', { id: flowId, ...(Boolean(input) && { input }) });
    setQuery({ run: id });
  };
  return (
    <div class="actions">
      <AskButton
        text="Run again"
        icon="play"
        ask={{ title: 'Run the flow again?', action: 'Run', look: 'primary', run }}
      >
        <p>
          <Ref id={flowId} /> runs now as it is today, with the rights of {runAs.name}
          {input ? ' and this input:' : ', without an input.'}
        </p>
        {Boolean(input) && <Json value={input} label="Input" />}
      </AskButton>
    </div>
  );
}

start(RunView);
