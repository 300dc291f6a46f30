import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { mustCall } from '../support/calls.ts';
import { serverForTests } from '../support/server.ts';
import { answerFixture } from './conformance/answers.ts';
import {
  type Check,
  listScenarios,
  readRequirements,
  runScenarios,
  runSuite,
  startProxy,
} from './conformance/suite.ts';
import { conformanceTools } from './conformance/tools.ts';

const NO_REQUESTS =
  'asks the client in the middle of a call, for which a server needs a stream that outlives the request';
const NO_SUBSCRIBE =
  'not declared in this revision: it would be answered, and no update would ever come, for want of a stream; 2026-07-28 has subscriptions/listen';
const NO_SESSION = 'tells of a session, which this server never has';
const NO_TASKS = 'an extension that is not declared';

/** Scenarios that do not pass, with the reason. All others of the suite do, required or not. */
const notPassing: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2026-07-28': {
    'tasks-lifecycle': NO_TASKS,
    'tasks-capability-negotiation': NO_TASKS,
    'tasks-wire-fields': NO_TASKS,
    'tasks-request-state-removal': NO_TASKS,
    'tasks-mrtr-input': NO_TASKS,
    'tasks-request-headers': NO_TASKS,
    'tasks-dispatch-and-envelope': NO_TASKS,
    'tasks-status-notifications': NO_TASKS,
    'tasks-required-task-error': NO_TASKS,
    'tasks-mrtr-composition': NO_TASKS,
    'http-custom-header-server-validation': 'no tool has an argument that travels in a header too',
  },
  '2025-11-25': {
    'tools-call-sampling': NO_REQUESTS,
    'tools-call-elicitation': NO_REQUESTS,
    'elicitation-sep1034-defaults': NO_REQUESTS,
    'elicitation-sep1330-enums': NO_REQUESTS,
    'resources-subscribe': NO_SUBSCRIBE,
    'resources-unsubscribe': NO_SUBSCRIBE,
    'server-sse-multiple-streams': NO_SESSION,
    'server-session-lifecycle': NO_SESSION,
    'server-sse-polling': NO_SESSION,
  },
};

/** The number of scenarios that a revision requires. The suite only reports the others. */
const required: Readonly<Record<string, number>> = { '2026-07-28': 37, '2025-11-25': 30 };

/**
 * Revisions for which the suite has no list of requirements. Of 2025-03-26 it has one scenario, about sessions; those of the revision after
 * it are about what this one has, too.
 */
const older: Readonly<Record<string, { scenariosOf: string; exceptions: Readonly<Record<string, string>> }>> = {
  '2025-06-18': {
    scenariosOf: '2025-06-18',
    exceptions: {
      'tools-call-sampling': NO_REQUESTS,
      'tools-call-elicitation': NO_REQUESTS,
      'resources-subscribe': NO_SUBSCRIBE,
      'resources-unsubscribe': NO_SUBSCRIBE,
      'server-session-lifecycle': NO_SESSION,
    },
  },
  '2025-03-26': {
    scenariosOf: '2025-06-18',
    exceptions: {
      'tools-call-sampling': NO_REQUESTS,
      'tools-call-elicitation': 'not yet in this revision',
      'resources-subscribe': NO_SUBSCRIBE,
      'resources-unsubscribe': NO_SUBSCRIBE,
      'server-session-lifecycle': NO_SESSION,
    },
  },
};

const server = serverForTests(
  { RATE_LIMIT_PER_MINUTE: '0' },
  {
    fixtures: { tools: conformanceTools, answerFirst: answerFixture },
  },
);

describe('the official conformance suite', () => {
  before(async () => {
    const skill = { name: 'test_simple_prompt', description: 'A prompt.', instructions: 'Say it shortly.' };
    await mustCall(server, server.adminKey, 'create_skill', skill);
  });

  for (const [revision, exceptions] of Object.entries(notPassing)) {
    describe(revision, () => {
      const scenarios = readRequirements(revision);
      let found: ReadonlyMap<string, readonly Check[]>;
      before(async () => {
        const proxy = await startProxy(`${server.baseUrl}/api/v1/mcp`, server.adminKey);
        found = await runSuite(proxy.url, revision);
        await proxy.close();
      });

      it('ran all its scenarios', () => {
        assert.deepEqual([...found.keys()].sort(), scenarios.map(({ name }) => name).sort());
        assert.equal(scenarios.filter(({ scored }) => scored).length, required[revision]);
        const unknown = Object.keys(exceptions).filter((name) => !found.has(name));
        assert.deepEqual(unknown, []);
      });

      for (const { name, scored } of scenarios) {
        const reason = exceptions[name];
        it(`${name}${scored ? '' : ' (not required)'}${reason ? ` does not pass: ${reason}` : ' passes'}`, () => {
          const checks = found.get(name) ?? [];
          assert.equal(passes(checks), reason === undefined, JSON.stringify(checks, null, 2));
        });
      }
    });
  }

  for (const [revision, { scenariosOf, exceptions }] of Object.entries(older)) {
    describe(revision, () => {
      it('passes what the suite has for it, but for what is named', async () => {
        const proxy = await startProxy(`${server.baseUrl}/api/v1/mcp`, server.adminKey, revision);
        const found = await runScenarios(proxy.url, scenariosOf);
        await proxy.close();
        assert.deepEqual([...proxy.revisions], [revision]);
        assert.deepEqual([...found.keys()].sort(), (await listScenarios(scenariosOf)).sort());
        assert.ok(found.size > 25, [...found.keys()].join());
        const failed = [...found].filter(([, checks]) => !passes(checks));
        assert.deepEqual(failed.map(([name]) => name).sort(), Object.keys(exceptions).sort(), JSON.stringify(failed));
      });
    });
  }
});

function passes(checks: readonly Check[]): boolean {
  const problems = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  return problems.length === 0 && checks.some(({ status }) => status === 'SUCCESS');
}
