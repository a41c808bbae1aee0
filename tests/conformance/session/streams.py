"""streams: chunks → embedded records → chunks, and the blocks they make."""

from engine.session import BlockAssembler, StreamRecorder, expand, joined_text
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    chunks = vector.body["chunks"]
    expect = vector.body["expect"]
    recorder, assembler = StreamRecorder(), BlockAssembler()
    for time, chunk in chunks:
        recorder.add(time, chunk)
        assembler.add(chunk)
    records = recorder.records()
    agree("stream", expect["stream"], records)
    expanded = [[time, chunk] for time, chunk in expand(records)]
    agree("expandedEqualsInput", expect["expandedEqualsInput"], expanded == chunks)
    agree("blocks", expect["blocks"], assembler.blocks())
    agree("interruptedBlocks", expect["interruptedBlocks"], assembler.interrupted_blocks())
    agree("usage", expect["usage"], assembler.usage)
    agree("finish", expect["finish"], assembler.finish)
    agree("joinedText", expect["joinedText"], joined_text(chunk for _, chunk in chunks))
