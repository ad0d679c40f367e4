"""OpenAPI 3.1 of the answers for machines, made from the table of routes and the types of answers.

https://spec.openapis.org/oas/v3.1.1
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from tallystick.json_values import JsonObject
from tallystick_service.answer import JSON
from tallystick_service.answers import ErrorAnswer
from tallystick_service.challenge import SCHEME
from tallystick_service.route import Parameter, Route

_REF = "#/components/schemas/{name}"
_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.MISDIRECTED_REQUEST,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
"""Statuses with which every address may refuse."""


def description(routes: Sequence[Route]) -> JsonObject:
    """Return the description of the routes that give JSON, and of health and metrics."""
    rows = [row for row in routes if row.of is not None or row.media_type.startswith("text/plain")]
    types = [*dict.fromkeys(row.of for row in rows if row.of is not None), ErrorAnswer]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, JsonObject] = {}
    for row in rows:
        method = "post" if row.posted else "get"
        paths.setdefault(row.path, {})[method] = _operation(row, by_type)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tallystick",
            "version": version("tallystick"),
            "description": "Answers about the state of a subnet, read-only. Numbers of the field "
            "are text of nine places. Every answer about the state has a strong ETag.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "hotkey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": f"A miner's proof, with the scheme {SCHEME}.",
                },
                "operator": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(row: Route, by_type: dict[Any, JsonObject]) -> JsonObject:
    content = {"schema": {"type": "string"} if row.of is None else by_type[row.of]}
    responses: JsonObject = {
        "200": {"description": row.sentence, "content": {row.media_type.split(";")[0]: content}}
    }
    if row.reads and row.is_kept:
        responses["304"] = {"description": "The asker has this answer: it has its ETag."}
    refusal = {JSON: {"schema": by_type[ErrorAnswer]}}
    for status in sorted({*_ALWAYS, *map(HTTPStatus, row.refuses)}):
        answer = refusal
        if row.name == "health" and status == HTTPStatus.SERVICE_UNAVAILABLE:
            either = [by_type[row.of], by_type[ErrorAnswer]]
            answer = {JSON: {"schema": {"anyOf": either}}}
        responses[str(int(status))] = {"description": status.phrase, "content": answer}
    operation: JsonObject = {
        "operationId": row.name,
        "summary": row.sentence,
        "parameters": [_parameter(row, parameter) for parameter in row.parameters],
        "responses": responses,
        "security": [{}, {"hotkey": []}, {"operator": []}],
    }
    if row.posted:
        operation["requestBody"] = {
            "description": row.posted,
            "required": True,
            "content": {JSON: {"schema": {"type": "object"}}},
        }
    return operation


def _parameter(row: Route, parameter: Parameter) -> JsonObject:
    in_path = f"{{{parameter.name}}}" in row.path
    schema: JsonObject = {"type": "string"}
    if parameter.kind == "number":
        schema = {"type": "integer", "minimum": 0}
    elif parameter.choices:
        schema["enum"] = [*parameter.choices]
    return {
        "name": parameter.name,
        "in": "path" if in_path else "query",
        "required": parameter.required,
        "description": parameter.meaning,
        **_form(parameter, schema),
        **({"example": _example(parameter)} if parameter.example else {}),
    }


def _form(parameter: Parameter, schema: JsonObject) -> JsonObject:
    if parameter.kind != "texts":
        return {"schema": schema}
    return {"content": {JSON: {"schema": {"type": "array", "items": {"type": "string"}}}}}


def _example(parameter: Parameter) -> Any:  # noqa: ANN401  # any JSON value
    return parameter.example if parameter.kind == "text" else json.loads(parameter.example)
