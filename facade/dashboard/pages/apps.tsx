import { toolsPage } from '../kind/tools-page.tsx';

export const Page = toolsPage('Connected apps', ['list_connected_apps']);
