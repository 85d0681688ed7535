"""A transcription endpoint on a loopback port: takes uploads, answers in the forms that it is told to know."""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

import soundfile
from aiohttp import web

from fakes.chat_server import Behaviour, ChatServer, Json, Received, error

PATH = "/v1/audio/transcriptions"
FORMS = ("json", "verbose_json", "word")


class Upload:
    """One request: its fields, and the sound that came with it."""

    def __init__(self, received: Received) -> None:
        kind = next(value for name, value in received.headers.items() if name.lower() == "content-type")
        message = BytesParser(policy=HTTP).parsebytes(
            b"Content-Type: " + kind.encode() + b"\r\n\r\n" + received.content
        )
        self.fields: dict[str, str] = {}
        for part in message.iter_parts():  # type: ignore[attr-defined]
            name = part.get_param("name", header="content-disposition")
            content: bytes = part.get_payload(decode=True)
            if name == "file":
                self.file_name = part.get_filename()
                self.content = content
                self.samples, self.rate_hz = soundfile.read(io.BytesIO(content), dtype="float32", always_2d=True)
            else:
                self.fields[name] = content.decode()

    @property
    def form(self) -> str:
        """What was asked for: ``json``, ``verbose_json`` (segments) or ``word``."""
        form = self.fields["response_format"]
        return "word" if self.fields.get("timestamp_granularities[]") == "word" else form

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate_hz


class TranscriptionServer(ChatServer):
    """Hears how long a clip is; ``forms`` are those it knows, any other is refused with 400 as OpenAI's models do."""

    def __init__(self, *, forms: Collection[str] = FORMS, models: Any = ("whisper-1",)) -> None:
        super().__init__(self._answer, models=models)
        self.forms = forms

    @property
    def asked(self) -> list[Received]:
        return [received for received in self.requests if received.path == PATH]

    @property
    def uploads(self) -> list[Upload]:
        return [Upload(received) for received in self.asked]

    def _behaviour(self, request: web.Request) -> Behaviour:
        if request.method == "POST" and request.path == PATH:
            return self._script.popleft() if self._script else self.default
        return super()._behaviour(request)

    async def _answer(self, request: web.Request, content: bytes) -> web.StreamResponse:
        headers = dict(request.headers)
        upload = Upload(Received(method="POST", path=PATH, headers=headers, content=content))
        if upload.form not in self.forms:
            refused = error(
                400, f"response_format '{upload.form}' is not compatible with model", code="unsupported_value"
            )
            return await refused(request, content)
        said: Json = {"text": f" heard {upload.seconds:.1f} seconds ", "usage": {"type": "duration", "seconds": 60}}
        if upload.form != "json":
            said |= {"language": "english", "duration": upload.seconds, "segments": []}
        if upload.form == "word":
            said["words"] = [{"word": " heard", "start": 0.1, "end": 0.4}]
        return web.Response(text=json.dumps(said), content_type="application/json")
