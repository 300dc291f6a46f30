/** The client that the suite starts for each scenario: it has the test connect, and says how that ended. */
const { CONFORMANCE_TASKS = '', MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT = '{}' } = process.env;
const task = { scenario, url: process.argv.at(-1), context: JSON.parse(MCP_CONFORMANCE_CONTEXT) };
const answer = await fetch(CONFORMANCE_TASKS, { method: 'POST', body: JSON.stringify(task) });
console.error(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
