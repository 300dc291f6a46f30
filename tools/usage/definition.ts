/** What `get_usage` says about its figures. */
export const DEFINITION = [
  'Calls are entries of the audit log, refused and failed ones and calls inside calls included; errors are those whose outcome is not ok.',
  'Latency is how long calls took: the value that half of them, and 95 % of them, do not exceed (nearest rank; where there are more than 20,000 calls, or the calls themselves are deleted, from a histogram, within 2 %).',
  'Tokens are those of the runs of agents, in the hour in which the run began, and count for the tool that began the run.',
  'By model, and with a filter by model, calls are turns of the model, errors are runs that failed, and latency is how long turns took.',
  'Keys, capsules, apps, users (people who signed in), flows and agents count with all that is done for them; of several agents or flows in one call the nearest counts. Rows hold what has such a label, totals hold everything.',
  'Cost is tokens by the price of the model on the day (UTC), at the exchange rate of the month; it is null where any price or rate is unknown.',
  'Days, weeks and months are those of the workspace time zone, made of whole hours.',
].join(' ');
