import { toolsPage } from '../kind/tools-page.tsx';

export const Page = toolsPage('Settings', ['get_settings', 'update_settings', 'get_bot_config', 'update_bot_config']);
