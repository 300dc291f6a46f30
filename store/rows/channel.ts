const HOSTS: Readonly<Record<string, readonly string[]>> = {
  Mail: [
    'mail.google.com',
    'mail.yahoo.com',
    'outlook.live.com',
    'outlook.office.com',
    'mail.proton.me',
    'mail.aol.com',
    'webmail.gmx.net',
  ],
  Video: ['youtube.com', 'youtu.be', 'vimeo.com', 'twitch.tv', 'dailymotion.com', 'bilibili.com'],
  Search: [
    'bing.com',
    'duckduckgo.com',
    'yahoo.com',
    'baidu.com',
    'yandex.ru',
    'yandex.com',
    'ecosia.org',
    'startpage.com',
    'qwant.com',
    'search.brave.com',
    'kagi.com',
    'perplexity.ai',
    'naver.com',
    'sogou.com',
  ],
  Social: [
    'facebook.com',
    'fb.com',
    'instagram.com',
    'threads.net',
    'threads.com',
    'twitter.com',
    'x.com',
    't.co',
    'linkedin.com',
    'lnkd.in',
    'reddit.com',
    'pinterest.com',
    'tiktok.com',
    'snapchat.com',
    'mastodon.social',
    'bsky.app',
    'vk.com',
    'weibo.com',
    'whatsapp.com',
    't.me',
    'telegram.org',
    'news.ycombinator.com',
    'xing.com',
  ],
};
const GOOGLE = /(^|\.)google\.(com?\.)?[a-z]{2,3}$/;

/** The channel of a visit: Direct without a referrer; Search, Social, Mail or Video by the referrer's host; Referral otherwise. */
export function channelOf(referrer: string | undefined): string {
  if (referrer === undefined || referrer.trim() === '') return 'Direct';
  let channel = known.get(referrer);
  if (channel === undefined) {
    channel = channelOfHost(hostOf(referrer));
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(referrer, channel);
  }
  return channel;
}

/** Caches channels, because most visits come from a few referrers. */
const known = new Map<string, string>();
const MOST_KNOWN = 10_000;

function channelOfHost(host: string): string {
  for (const [channel, hosts] of Object.entries(HOSTS)) {
    if (hosts.some((own) => host === own || host.endsWith(`.${own}`))) return channel;
  }
  return GOOGLE.test(host) ? 'Search' : 'Referral';
}

/** A referrer is a URL or only a host. */
function hostOf(referrer: string): string {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(referrer) ? referrer : `https://${referrer}`;
  return URL.canParse(text) ? new URL(text).hostname.replace(/\.$/, '') : '';
}
