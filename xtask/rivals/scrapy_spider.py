"""A Scrapy spider that does what every contestant of the benchmark does: follow the links of one host.

Usage: scrapy runspider scrapy_spider.py -a url=URL -a in_flight=N
"""

import urllib.parse

import scrapy
from scrapy.linkextractors import LinkExtractor


class Follower(scrapy.Spider):
    name = "follower"
    custom_settings = {
        "ROBOTSTXT_OBEY": False,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, url, in_flight, **rest):
        super().__init__(**rest)
        self.start_urls = [url]
        # With its port, as Scrapy compares it.
        host = urllib.parse.urlsplit(url).netloc
        self.links = LinkExtractor(allow_domains=[host], tags=("a",), deny_extensions=[])

    @classmethod
    def from_crawler(cls, crawler, *args, **rest):
        in_flight = int(rest["in_flight"])
        crawler.settings.set("CONCURRENT_REQUESTS", in_flight, priority="spider")
        crawler.settings.set("CONCURRENT_REQUESTS_PER_DOMAIN", in_flight, priority="spider")
        return super().from_crawler(crawler, *args, **rest)

    def parse(self, response):
        if isinstance(response, scrapy.http.HtmlResponse):
            for link in self.links.extract_links(response):
                yield scrapy.Request(link.url)
