import type * as real from '../../tabs.ts';

/** The page is alone. */
export const tellTabs: typeof real.tellTabs = () => {};
export const hearTabs: typeof real.hearTabs = () => {};
