import { firstCalls } from './pages/home/first-calls.ts';
import { request } from './transport.ts';

/**
 * The first calls of the home page. A small script of its own, because it is there before the page's scripts are loaded and before anything
 * is drawn.
 */
globalThis.begunCalls = firstCalls().map(([tool, input]) => {
  const result = request('tools/call', { name: tool, arguments: input }, { name: tool });
  result.catch(() => {}); // the store is told when it asks
  return { tool, input, result };
});
