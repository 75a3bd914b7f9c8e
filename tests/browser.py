"""A headless Chromium without a network, by its own protocol: what a reader would see."""

import base64
import json
import shutil
import subprocess
import time
import urllib.request

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars
    --disable-background-networking --disable-component-update --disable-sync
    --remote-debugging-port=0 --proxy-server=127.0.0.1:9
""".split()
NO_NAMES = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


class Browser:
    """One page. `requests` and `complaints` grow with all that is opened in it."""

    def __init__(self, folder):
        import websocket  # of jupyterlab's packages

        command = [CHROMIUM, *OPTIONS, NO_NAMES, f"--user-data-dir={folder}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*command, "about:blank"], **quiet)
        try:
            address = self.page_address(folder / "DevToolsActivePort")
            self.socket = websocket.create_connection(
                address, timeout=60, suppress_origin=True
            )
        except BaseException:
            self.process.kill()
            raise
        self.loaded, self.count = True, 0
        self.requests, self.complaints = [], []
        for domain in "Page", "Network", "Runtime", "Log":
            self.call(f"{domain}.enable")

    def page_address(self, file):
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_text().count("\n")):
            assert self.process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        port = file.read_text().split()[0]
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=60) as answer:
            pages = json.load(answer)
        return next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(60)

    def call(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.count:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self.note(answer["method"], answer["params"])

    def note(self, event, about):
        if event == "Page.loadEventFired":
            self.loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif event == "Network.loadingFailed":
            self.complaints.append(f"not loaded: {about['errorText']}")
        elif event == "Network.responseReceived" and about["response"]["status"] >= 400:
            self.complaints.append(f"not loaded: {about['response']['url']}")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"])[:500])
        elif event == "Runtime.consoleAPICalled" and about["type"] in (
            "error",
            "warning",
        ):
            self.complaints.append(json.dumps(about["args"])[:500])
        elif event == "Log.entryAdded" and about["entry"]["level"] in (
            "error",
            "warning",
        ):
            self.complaints.append(json.dumps(about["entry"])[:500])

    def run(self, script):
        """What a script's last expression is, once it is there if it is a promise."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, address):
        """Go to a page, and wait until it is loaded and its formulas are set."""
        self.loaded = False
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")
        self.run("globalThis.MathJax?.startup?.promise?.then(() => true)")

    def wait(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not (self.run(condition) and self.loaded):
            assert time.monotonic() < deadline, condition
            time.sleep(0.05)

    def size(self, width, height):
        phone = {"deviceScaleFactor": 1, "mobile": width < 500}
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, **phone
        )

    def picture(self, path):
        data = self.call("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(data))
