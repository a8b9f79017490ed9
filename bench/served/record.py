"""A proxy that writes down what edge and a model server say to each other, for the tests that have no server."""
import http.client
import http.server
import json
import threading


class Recorder:
    """Listens on a port of its own and passes everything on to the server at port."""

    def __init__(self, port):
        self.exchanges, recorder = [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"  # a reply ends with its connection, so that it can be passed on piece by piece

            def log_message(self, *_):
                pass

            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                upstream = http.client.HTTPConnection("127.0.0.1", port)
                upstream.request(self.command, self.path, body, {"Content-Type": "application/json"})
                answer = upstream.getresponse()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
                self.end_headers()
                whole, heard = b"", True
                while piece := answer.read1(1 << 16):
                    whole += piece
                    try:
                        if heard:
                            self.wfile.write(piece)
                            self.wfile.flush()
                    except ConnectionError:  # edge has heard enough; the rest is written down all the same
                        heard = False
                recorder.exchanges.append({
                    "method": self.command, "path": self.path, "request": json.loads(body) if body else None,
                    "status": answer.status, "response": trimmed(self.path, whole.decode()),
                })

            do_GET = do_POST = pass_on

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()


def trimmed(path, text):
    """What edge doesn't read of a long answer is left out, and so are paths of the machine that it was recorded on."""
    if path == "/api/show":
        said = json.loads(text)
        said = {k: said[k] for k in ("modelfile", "parameters", "template", "details", "capabilities") if k in said} | {
            "model_info": {k: v for k, v in said.get("model_info", {}).items() if k.endswith("context_length")}}
        said["modelfile"] = "\n".join(
            "FROM /models/blobs/" + line.rsplit("/", 1)[1] if line.startswith("FROM ") and "/" in line else line for line in said["modelfile"].splitlines())
        said["details"].pop("parent_model", None)
        return json.dumps(said)
    if path == "/props":
        said = json.loads(text)
        said = {k: said[k] for k in ("model_path", "chat_template", "build_info", "total_slots")}
        said["model_path"] = "/models/" + said["model_path"].rsplit("/", 1)[1]
        return json.dumps(said)
    return text
