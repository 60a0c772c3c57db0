// Crawls an application with Crawlee: node crawlee_app.mjs ROOT BROWSER
import { PlaywrightCrawler, Configuration } from '@crawlee/playwright';

const [root, browser] = process.argv.slice(2);
const crawler = new PlaywrightCrawler({
  maxConcurrency: 2,
  minConcurrency: 2,
  launchContext: { launchOptions: { executablePath: browser, args: ['--no-sandbox'] } },
  async requestHandler({ page, enqueueLinks }) {
    await page.waitForLoadState('networkidle');
    await enqueueLinks();
  },
}, new Configuration({ persistStorage: false, availableMemoryRatio: 0.9 }));
await crawler.run([root]);
