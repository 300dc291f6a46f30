export interface Repeated {
  /** Stops, after what runs. */
  close(): Promise<void>;
}

/** Does the work now and again and again, once at a time. */
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
