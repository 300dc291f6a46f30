/**
 * Loaded into a process before its program (`--import`): moves its clock, and has names of hosts not found, as the link named by FAULT_STATE says. A
 * link, because reading one takes no file descriptor and sees no half-written text.
 */
import dns from 'node:dns';
import { readlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const EVERY_MS = 20;
const link = process.env.FAULT_STATE;

let aheadMs = 0;
let namesAreGone = false;

function look() {
  try {
    const state = JSON.parse(readlinkSync(link));
    aheadMs = state.aheadMs ?? 0;
    namesAreGone = state.namesAreGone ?? false;
  } catch {
    // There is none: all is well.
    aheadMs = 0;
    namesAreGone = false;
  }
}

if (link) {
  look();
  setInterval(look, EVERY_MS).unref();
  const RealDate = Date;
  const now = () => RealDate.now() + aheadMs;
  globalThis.Date = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
  });
  const { lookup } = dns;
  dns.lookup = (name, options, callback) => {
    const answer = callback ?? options;
    if (!namesAreGone || /^[\d.]+$|:/.test(name)) return lookup(name, options, callback);
    const error = Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), {
      ...{ errno: -3001, code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: name },
    });
    setImmediate(answer, error);
    return {};
  };
  syncBuiltinESMExports();
}
