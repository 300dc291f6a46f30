/** Tells the other tabs of the dashboard that something was changed in this one. */
const channel = new BroadcastChannel('admin-changes');

export function tellTabs(tool: string): void {
  channel.postMessage(tool);
}

export function hearTabs(changed: () => void): void {
  channel.onmessage = changed;
}
