/** Ends with 0 when the server of this machine is ready, for health checks of containers. */
const { PORT = '3000' } = process.env;
const isReady = await fetch(`http://127.0.0.1:${PORT}/readyz`, { signal: AbortSignal.timeout(2500) }).then(
  ({ ok }) => ok,
  () => false,
);
process.exitCode = isReady ? 0 : 1;
