"""Crawls a site with Scrapy: follows every link on the host, stores nothing.

scrapy runspider whole_site.py -a seed=URL
"""

from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor


class SiteSpider(scrapy.Spider):
    name = "site"
    custom_settings = {
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "DOWNLOAD_DELAY": 0,
        "LOG_LEVEL": "ERROR",
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
    }

    def __init__(self, seed, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seed]
        self.extractor = LinkExtractor(allow_domains=[urlsplit(seed).netloc])

    def parse(self, response):
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in self.extractor.extract_links(response):
                yield scrapy.Request(link.url, callback=self.parse)
