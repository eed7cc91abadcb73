# Fetches a page.
from urllib.request import urlopen

urlopen("http://127.0.0.1:PORT/").read()
