import type { View } from '../../../tools/core/registry/tool.ts';
import { refs } from '../kinds.ts';

const READERS = Object.values(refs).flatMap(({ get }) => get ?? []);

/** The tools that each page calls besides the one whose answer it shows. Buttons appear for those that the reader may call. */
export const usedTools: Readonly<Record<View, readonly string[]>> = {
  chart: [],
  report: ['get_report'],
  diff: ['list_versions', 'diff_version', 'restore_version', ...READERS],
  run: ['get_flow_run', 'list_flow_runs', 'get_flow', 'trigger_flow', 'cancel_flow_run'],
  search: ['search', 'search_memories', ...READERS],
};
