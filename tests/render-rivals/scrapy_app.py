"""Crawls an application with scrapy-playwright: scrapy_app.py ROOT BROWSER"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy_playwright.page import PageMethod


class App(scrapy.Spider):
    name = "app"
    root, browser = sys.argv[1:3]
    start_urls = []

    async def start(self):
        yield self.rendered(self.root)

    def rendered(self, url):
        wait = [PageMethod("wait_for_load_state", "networkidle")]
        return scrapy.Request(url, meta={"playwright": True, "playwright_page_methods": wait})

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield self.rendered(response.urljoin(link))


process = CrawlerProcess({
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_HANDLERS": {"http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"},
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": App.browser, "args": ["--no-sandbox"]},
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 2,
    "CONCURRENT_REQUESTS": 2,
    "DOWNLOAD_DELAY": 0,
})
process.crawl(App)
process.start()
