import { adminUserExamples } from './admin-users.ts';
import { agentExamples } from './agents.ts';
import { analyticsExamples } from './analytics.ts';
import { productExamples } from './analytics-product.ts';
import { trafficExamples } from './analytics-traffic.ts';
import { authExamples } from './auth.ts';
import { capsuleExamples } from './capsules.ts';
import { chatExamples } from './chat.ts';
import type { Examples } from './example.ts';
import { flowExamples } from './flows.ts';
import { memoryExamples } from './memory.ts';
import { reportExamples } from './reports.ts';
import { searchExamples } from './search.ts';
import { settingsExamples } from './settings.ts';
import { skillExamples } from './skills.ts';
import { systemExamples } from './system.ts';
import { threadExamples } from './threads.ts';
import { userExamples } from './users.ts';
import { versionExamples } from './versions.ts';

/** Shown in the document; every operation has an answer, and an input where it needs one. */
export const examples: Examples = {
  ...authExamples,
  ...agentExamples,
  ...memoryExamples,
  ...searchExamples,
  ...skillExamples,
  ...flowExamples,
  ...chatExamples,
  ...threadExamples,
  ...userExamples,
  ...adminUserExamples,
  ...analyticsExamples,
  ...productExamples,
  ...trafficExamples,
  ...reportExamples,
  ...settingsExamples,
  ...systemExamples,
  ...capsuleExamples,
  ...versionExamples,
};
