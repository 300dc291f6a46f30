import type { ComponentType } from 'preact';
import { Segments } from '../components/tabs.tsx';
import { ToolRunner } from '../components/tool-runner.tsx';
import { wordOf } from '../format.ts';
import { setQuery, usePlace } from '../router.ts';
import { useTools } from '../tools.ts';

/** A page for tools that belong together: one is picked, its form filled in, its answer shown. */
export function toolsPage(title: string, names: readonly string[]): ComponentType {
  return () => {
    const tools = useTools();
    const { query } = usePlace();
    const there = names.filter((name) => tools?.has(name));
    const picked = there.find((name) => name === query.get('tool')) ?? there[0];
    const tool = picked === undefined ? undefined : tools?.get(picked);
    const options = there.map((value) => ({ value, label: tools?.get(value)?.title ?? wordOf(value) }));
    return (
      <div class="page-body">
        <header class="page-head">
          <h1>{title}</h1>
        </header>
        {options.length > 1 && (
          <Segments
            label="Tool"
            value={picked ?? ''}
            options={options}
            onChange={(value) => setQuery({ tool: value })}
          />
        )}
        {tool && (
          <>
            <p class="quiet">{tool.description?.replaceAll('`', '')}</p>
            <ToolRunner key={tool.name} name={tool.name} />
          </>
        )}
      </div>
    );
  };
}
