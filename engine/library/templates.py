"""Session templates: a selection under a name, looked at before it is applied. Source: spec tavern 1.6.

A template holds ids and options only: never history, input or any content. A persona in it is one of
whoever made the template: nobody can be made to play at somebody else's table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.codec import canonical, loads
from engine.errors import Conflict, InputError, NotFound, ResourceError
from engine.ids import new_id
from engine.library.exports import ExportFile
from engine.library.selections import Selection, selection_from_wire
from engine.resources import TemplateFile, export_filename, read_template, write_template
from engine.storage import Row, Store, Write

__all__ = ["Preview", "Template", "Templates"]

_KINDS = {
    "SESSION_CONFIGURATION_PRESET_MISSING": "preset",
    "SESSION_CONFIGURATION_CHARACTER_MISSING_OR_INVALID": "card",
    "SESSION_CONFIGURATION_WORLD_BOOK_MISSING": "world_book",
    "SESSION_CONFIGURATION_REGEX_MISSING": "regex",
}
MAX_TEMPLATES = 100  # of one owner; the seeds' default
MAX_BYTES = 512 * 1024  # of one owner's selections together; the seeds' default
MAX_NAME = 120  # characters, and …
MAX_NAME_BYTES = 480  # … bytes in UTF-8: spec tavern 1.6


@dataclass(frozen=True, slots=True)
class Template:
    """A named selection. Times are epoch ms."""

    id: str
    owner: str
    name: str
    selection: Selection
    created_by: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Preview:
    """What applying would set, and which of it is not there any more: codes and ids.

    `names` has the names by id, also of what was deleted; nothing of what never was here.
    """

    template: Template
    missing: tuple[tuple[str, str], ...]
    names: Mapping[str, str]


class Templates:
    """All templates on a `Store`. `clock` gives epoch ms."""

    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        self._store = store
        self._clock = clock

    async def list(self, owner: str) -> Sequence[Template]:
        """By name."""
        return [_template(row) for row in await self._store.fetch("template_list", owner=owner)]

    async def get(self, owner: str, template_id: str) -> Template:
        """Raises NotFound SESSION_TEMPLATE_NOT_FOUND."""
        row = await self._store.fetch_one("template_get", id=template_id)
        if row is None or row["owner"] != owner:
            raise NotFound("There is no such template (any more).", code="SESSION_TEMPLATE_NOT_FOUND")
        return _template(row)

    async def create(self, owner: str, name: str, selection: Selection, by: str) -> Template:
        """Keep a selection under a name.

        Raises ResourceError NAME_INVALID, SESSION_TEMPLATE_ID_EXISTS for a name that is taken,
        SESSION_TEMPLATE_LIMIT_REACHED.
        """
        label = _label(name)
        await self._check_name(owner, label, None)
        template_id = new_id("t")
        params = {
            "id": template_id,
            "owner": owner,
            "name": label,
            "selection": _wire(selection),
            "by": by,
            "at": self._clock(),
            "max_count": MAX_TEMPLATES,
            "max_bytes": MAX_BYTES,
        }
        try:
            await self._store.commit(Write("template_insert", params, expect=1))
        except Conflict:
            raise ResourceError(
                f"There is room for {MAX_TEMPLATES} templates. Delete one first.",
                code="SESSION_TEMPLATE_LIMIT_REACHED",
                limit=MAX_TEMPLATES,
            ) from None
        return await self.get(owner, template_id)

    async def import_(self, owner: str, data: bytes, by: str, *, name: str | None = None) -> Template:
        """Bring in a template's file, under its own name or another; see `preview` for what it misses here.

        Raises ResourceError SESSION_TEMPLATE_BODY_TOO_LARGE, SESSION_TEMPLATE_DOCUMENT_INVALID, and as
        `create`; nothing is kept then.
        """
        file = read_template(data)
        return await self.create(owner, name or file.name, _selection(file), by)

    async def export(self, owner: str, template_id: str) -> ExportFile:
        """The template as a file. Raises NotFound SESSION_TEMPLATE_NOT_FOUND."""
        found = await self.get(owner, template_id)
        chosen = found.selection
        file = TemplateFile(
            name=found.name,
            card_id=chosen.card_id,
            preset_id=chosen.preset_id,
            persona_id=chosen.persona_id,
            greeting_index=chosen.greeting_index,
            prefer_system=chosen.prefer_system,
            prefer_post_history=chosen.prefer_post_history,
            book_ids=chosen.book_ids,
            regex_ids=chosen.regex_ids,
            tools=chosen.tools,
        )
        return ExportFile(export_filename(found.name, "json"), "application/json", write_template(file))

    async def change(
        self, owner: str, template_id: str, *, name: str | None = None, selection: Selection | None = None
    ) -> Template:
        """Another name, another selection, or both. Raises as `create`, and NotFound."""
        found = await self.get(owner, template_id)
        label = found.name if name is None else _label(name)
        await self._check_name(owner, label, template_id)
        params = {
            "id": template_id,
            "owner": owner,
            "name": label,
            "selection": _wire(found.selection if selection is None else selection),
            "at": self._clock(),
        }
        try:
            await self._store.commit(Write("template_change", params, expect=1))
        except Conflict:
            raise NotFound(
                "There is no such template (any more).", code="SESSION_TEMPLATE_NOT_FOUND"
            ) from None
        return await self.get(owner, template_id)

    async def delete(self, owner: str, template_id: str) -> Template:
        """Raises NotFound SESSION_TEMPLATE_NOT_FOUND. Stories that it was applied to keep what they use."""
        found = await self.get(owner, template_id)
        await self._store.commit(Write("template_delete", {"id": template_id, "owner": owner}))
        return found

    async def preview(self, owner: str, template_id: str) -> Preview:
        """What applying would set, and what is missing. Changes nothing."""
        template = await self.get(owner, template_id)
        missing, names = [], {}
        for code, ids in _needs(template.selection):
            for resource_id in ids:
                name, is_there = await self._look(template, code, resource_id)
                if name is not None:
                    names[resource_id] = name
                if not is_there:
                    missing.append((code, resource_id))
        return Preview(template, tuple(missing), names)

    async def usable(self, owner: str, template_id: str) -> Selection:
        """The selection, when all that it names is there.

        Raises InputError SESSION_CONFIGURATION_UNAVAILABLE (data: missing) otherwise.
        """
        preview = await self.preview(owner, template_id)
        if preview.missing:
            raise InputError(
                "Something that this template uses is not in the library any more.",
                code="SESSION_CONFIGURATION_UNAVAILABLE",
                missing=[code for code, _ in preview.missing],
                names=[preview.names.get(resource_id, resource_id) for _, resource_id in preview.missing],
                name=preview.template.name,
                listed=", ".join(preview.names.get(each, each) for _, each in preview.missing),
            )
        return preview.template.selection

    async def _look(self, template: Template, code: str, resource_id: str) -> tuple[str | None, bool]:
        """Its name, as far as it is this owner's or this person's, and whether it can be used."""
        if code == "SESSION_CONFIGURATION_USER_MISSING":
            persona = await self._store.fetch_one("persona_get", id=resource_id)
            own = persona is not None and persona["user_id"] == template.created_by
            return (persona["name"] if persona is not None and own else None), own
        row = await self._store.fetch_one("resource_get", id=resource_id)
        # Another server's library is not ours to read, whatever ids a file names.
        if row is None or row["owner"] != template.owner or row["kind"] != _KINDS[code]:
            return None, False
        return row["name"], row["deleted_at"] is None

    async def _check_name(self, owner: str, name: str, except_id: str | None) -> None:
        if any(found.name == name and found.id != except_id for found in await self.list(owner)):
            raise ResourceError(
                f"There is a template called “{name}” already.", code="SESSION_TEMPLATE_ID_EXISTS", name=name
            )


def _needs(selection: Selection) -> Sequence[tuple[str, Sequence[str]]]:
    one = [
        ("SESSION_CONFIGURATION_PRESET_MISSING", selection.preset_id),
        ("SESSION_CONFIGURATION_CHARACTER_MISSING_OR_INVALID", selection.card_id),
        ("SESSION_CONFIGURATION_USER_MISSING", selection.persona_id),
    ]
    return [
        *((code, (found,)) for code, found in one if found is not None),
        ("SESSION_CONFIGURATION_WORLD_BOOK_MISSING", selection.book_ids),
        ("SESSION_CONFIGURATION_REGEX_MISSING", selection.regex_ids),
    ]


def _selection(file: TemplateFile) -> Selection:
    return Selection(
        card_id=file.card_id,
        preset_id=file.preset_id,
        persona_id=file.persona_id,
        greeting_index=file.greeting_index,
        prefer_system=file.prefer_system,
        prefer_post_history=file.prefer_post_history,
        book_ids=file.book_ids,
        regex_ids=file.regex_ids,
        tools=file.tools,
    )


def _label(name: str) -> str:
    label = " ".join(name.split())
    if not 0 < len(label) <= MAX_NAME or len(label.encode()) > MAX_NAME_BYTES:
        raise ResourceError(f"A name needs 1 to {MAX_NAME} characters.", code="NAME_INVALID")
    return label


def _wire(selection: Selection) -> str:
    """Without what belongs to one story only: its seed and whom it calls {{user}}."""
    return canonical(replace(selection, seed="", user_name="").to_wire()).decode()


def _template(row: Row) -> Template:
    return Template(
        id=row["id"],
        owner=row["owner"],
        name=row["name"],
        selection=selection_from_wire(loads(row["selection"])),
        created_by=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
