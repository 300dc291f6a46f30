export interface Repeated {
  /** Stops once the work under way has ended. */
  close(): Promise<void>;
}

/** Does the work now and then in regular intervals, never twice at the same time. */
export function startRepeated(
  work: () => Promise<void>,
  onFailure: (cause: unknown) => void,
  everyMs: number,
): Repeated {
  let running = Promise.resolve();
  const run = () => {
    running = running.then(work).catch(onFailure);
  };
  run();
  const timer = setInterval(run, everyMs);
  timer.unref();
  return {
    close() {
      clearInterval(timer);
      return running;
    },
  };
}
