import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller, Client } from './client.ts';
import type { Violations, Work } from './work.ts';

const PAGE = 100;
/** What a process wrote whose clock was wrong is elsewhere in the log. */
const MOST_PAGES = 4;

/** A run lasts hours, and clocks are hours off. */
const WIDEST_MS = 24 * 3_600_000;
/** Hours are rolled up every 5 minutes. */
const ROLLED_UP_MS = 6 * 60_000;
const LOOK_MS = 5000;

/** Reads with a key whose calls a budget counts; compares the audit log, usage and budget with what was asked and answered. */
export class Accounts implements Work {
  readonly name = 'audit log, usage and budget';
  readonly everyMs = 400;
  readonly #client: Client;
  readonly #admin: Caller;
  readonly #caller: Caller;
  readonly #budgetId: string;
  readonly #violations: Violations;

  constructor(client: Client, admin: Caller, caller: Caller, budgetId: string, violations: Violations) {
    this.#client = client;
    this.#admin = admin;
    this.#caller = caller;
    this.#budgetId = budgetId;
    this.#violations = violations;
  }

  async step(): Promise<void> {
    const outcome = await this.#client.call(this.#caller, 'list_agents', { limit: 5 }, { door: 'REST' });
    const isRight = outcome.is === 'done' || ['unavailable', 'no connection', 'cut'].includes(outcome.code);
    this.#violations.expect(isRight, () => `agents were not listed: ${JSON.stringify(outcome)}`);
  }

  async check(isLast: boolean): Promise<void> {
    await this.#compareAudit();
    if (isLast) await this.#compareUsage();
  }

  /** Each acknowledged write has its entry, once. */
  async #compareAudit(): Promise<void> {
    const wanted = this.#client.acknowledged.splice(0);
    const entries = new Map<string, number>();
    let cursor: unknown;
    const missing = () => wanted.filter(({ requestId, tool }) => !entries.has(`${requestId} ${tool}`));
    for (let page = 0; page < MOST_PAGES && cursor !== null && missing().length > 0; page += 1) {
      const input = { changes: true, limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const list = await this.#client.look(this.#admin, 'list_audit_entries', input);
      if (list.is !== 'done') return this.#violations.found(`the audit log was not read: ${list.message}`);
      for (const { requestId, tool } of list.output.data)
        entries.set(`${requestId} ${tool}`, (entries.get(`${requestId} ${tool}`) ?? 0) + 1);
      cursor = list.output.nextCursor;
    }
    for (const { requestId, tool, recordId } of missing()) {
      const count = await this.#count(tool, { requestId });
      if (count > 0) entries.set(`${requestId} ${tool}`, count);
      // A repeat that a store without room answered is entered when it has room, unless the process is killed before.
      else if (recordId === undefined || (await this.#count(tool, { recordId })) === 0)
        this.#violations.found(`${tool} of the request ${requestId} was acknowledged and is not in the audit log`);
    }
    for (const { requestId, tool } of wanted) {
      const count = entries.get(`${requestId} ${tool}`) ?? 0;
      this.#violations.expect(
        count <= 1,
        () => `${tool} of the request ${requestId} is in the audit log ${count} times`,
      );
    }
  }

  async #count(tool: string, where: object): Promise<number> {
    const input = { tool, outcome: 'ok', ...where, limit: PAGE };
    const list = await this.#client.look(this.#admin, 'list_audit_entries', input);
    if (list.is === 'done') return list.output.data.length;
    this.#violations.found(`the audit log was not read: ${list.message}`);
    return 0;
  }

  /** Usage is a recount of the audit log; the budget counts each call that was answered, and none that was not asked. */
  async #compareUsage(): Promise<void> {
    const { asked: most, answered } = this.#caller;
    // What a clock that was behind put into an hour that was counted already is found by the next roll-up.
    const deadline = performance.now() + ROLLED_UP_MS;
    let found = await this.#usage();
    for (; found && found.calls !== found.total && performance.now() < deadline; found = await this.#usage())
      await sleep(LOOK_MS);
    if (!found) return;
    const { calls, total, used } = found;
    this.#violations.expect(calls === total, () => `usage counts ${calls} calls, the audit log has ${total}`);
    this.#violations.expect(
      used >= answered && used <= most,
      () => `the budget counts ${used} calls: ${answered} answered, ${most} asked`,
    );
  }

  /** Calls of the key by usage, in the audit log and by the budget. Undefined if they were not read. */
  async #usage(): Promise<{ calls: number; total: number; used: number } | undefined> {
    const { id } = this.#caller;
    const entries = { principal: id, limit: 1, includeTotal: true };
    const log = await this.#client.look(this.#admin, 'list_audit_entries', entries);
    // Without a range, usage is what was until now; a clock that was ahead dated calls later.
    const [from, to] = [-WIDEST_MS, WIDEST_MS].map((ms) => new Date(Date.now() + ms).toISOString());
    const asked = { by: 'key', interval: 'hour', limit: 100, from, to };
    const usage = await this.#client.look(this.#admin, 'get_usage', asked);
    const budget = await this.#client.look(this.#admin, 'list_budgets', { limit: 100 });
    if (log.is !== 'done' || usage.is !== 'done' || budget.is !== 'done') {
      this.#violations.found(`usage was not read: ${JSON.stringify({ log, usage, budget })}`);
      return undefined;
    }
    const { calls = 0 } = usage.output.rows.find((row: { key: string }) => row.key === id) ?? {};
    const { used } = budget.output.data.find((each: { id: string }) => each.id === this.#budgetId) ?? {};
    return { calls, total: log.output.total, used };
  }
}
