// Crawls a site with crawlee's CheerioCrawler: follows every link on the host, stores nothing. `node crawl.mjs URL`

import { CheerioCrawler, Configuration, log } from '@crawlee/cheerio';

const seed = process.argv[2];
if (!seed) {
    console.error('usage: crawl.mjs URL');
    process.exit(2);
}
log.setLevel(log.LEVELS.ERROR);

let pages = 0;
const crawler = new CheerioCrawler(
    {
        minConcurrency: 32,
        maxConcurrency: 64,
        maxRequestRetries: 0,
        respectRobotsTxtFile: false,
        async requestHandler({ enqueueLinks }) {
            pages += 1;
            await enqueueLinks({ strategy: 'same-hostname' });
        },
    },
    new Configuration({ persistStorage: false }),
);
await crawler.run([seed]);
console.log(`${pages} pages`);
