"""A session with dap-python, a client that knows nothing of us and checks each message against the protocol's types."""

import signal
import subprocess
import sys

import dap.events
import dap.responses
from dap import Client
from dap.base import Response


# Answers without a body are whole messages to the library, which it then looks for in the body.
for kind in vars(dap.responses).values():
    if isinstance(kind, type) and issubclass(kind, Response) and kind is not Response:
        kind.model_validate = classmethod(lambda own, _: own.model_construct())

# Numbers of breakpoints are numbers in the protocol, and texts in the library.
dap.events.StoppedEvent.model_fields["hitBreakpointIds"].annotation = list[int]
dap.events.StoppedEvent.model_rebuild(force=True)

server = subprocess.Popen([sys.argv[1], "dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
client = Client("warpgrind", client_id="test")
waiting = []
# A session that hangs ends with an error.
signal.alarm(60)


def exchange():
    server.stdin.write(client.send())
    data = server.stdout.read(1 << 16)
    assert data, "the server has gone"
    waiting.extend(client.receive(data))


def is_of(message, kind):
    return type(message).__name__ == kind


def until(kind):
    """The next message of a type; others before it are passed."""
    while True:
        while waiting:
            message = waiting.pop(0)
            if is_of(message, kind):
                return message
            assert not is_of(message, "ErrorResponse"), message
        exchange()


capabilities = until("Initialized")
assert capabilities.supportsStepBack and capabilities.supportsDataBreakpoints
client.send_request("launch", {"files": ["cli/tests/data/debug/gemm_overrun.toml"]})
until("InitializedEvent")
source = {"path": "/somewhere/testdata/debugger/gemm_overrun.cu"}
client.set_breakpoints(source, [{"line": 21, "condition": "threadIdx.x == 3"}])
answer = until("SetBreakpointsResponse").breakpoints
assert answer[0].verified and answer[0].line == 21, answer
client.set_exception_breakpoints(["findings"], [], [])
client.configuration_done()

stopped = until("StoppedEvent")
assert stopped.reason == "breakpoint", stopped
thread = stopped.threadId
client.threads()
threads = until("ThreadsResponse").threads
assert [one.name for one in threads] == ["block (0,0,0) warp 0", "block (0,0,0) warp 1"], threads
client.stack_trace(thread)
frames = until("StackTraceResponse").stackFrames
assert frames[0].name == "gemm_overrun" and frames[0].line == 21, frames
assert frames[0].source.path.endswith("testdata/debugger/gemm_overrun.cu"), frames
client.scopes(frames[0].id)
scopes = {scope.name: scope.variablesReference for scope in until("ScopesResponse").scopes}
client.variables(scopes["Special"])
special = {one.name: one.value for one in until("VariablesResponse").variables}
assert special["threadIdx.x"] == "3", special
client.variables(scopes["Buffers"])
buffers = {one.name: one for one in until("VariablesResponse").variables}
assert buffers["C"].indexedVariables == 384, buffers
client.variables(buffers["A"].variablesReference, start=1, count=2)
assert [one.value for one in until("VariablesResponse").variables] == ["3", "7"]
client.evaluate("A[1] + 0.5", frame_id=frames[0].id)
assert until("EvaluateResponse").result == "3.5"
client.read_memory(buffers["A"].memoryReference, 8)
assert until("ReadMemoryResponse").data == "AACAPwAAQEA="
client.disassemble(frames[0].instructionPointerReference, 3, instruction_offset=-1)
instructions = until("DisassembleResponse").instructions
assert len(instructions) == 3
assert any(one.instruction.startswith("add.s32 %r11") for one in instructions), instructions

client.data_breakpoint_info("[5]", buffers["C"].variablesReference)
data = until("DataBreakpointInfoResponse")
assert data.dataId, data
client.set_data_breakpoints([{"dataId": data.dataId, "accessType": "write"}])
assert until("SetDataBreakpointsResponse").breakpoints[0].verified
client.set_breakpoints(source, [])
client.continue_(thread)
stopped = until("StoppedEvent")
assert stopped.reason == "data breakpoint" and stopped.text == "0 -> -10", stopped
client.step_back(stopped.threadId)
assert until("StoppedEvent").reason == "step"
client.reverse_continue(stopped.threadId)
assert until("StoppedEvent").text == "this is where the launch begins"
client.set_data_breakpoints([])
client.continue_(thread)
stopped = until("StoppedEvent")
assert stopped.reason == "exception", stopped
assert "buffer `C`" in stopped.text, stopped
# Other threads do the same: nobody wants to know.
client.set_exception_breakpoints([], [], [])
client.continue_(stopped.threadId)
until("TerminatedEvent")
client.disconnect()
server.stdin.write(client.send())
server.stdin.close()
assert server.wait(10) == 0
print("the session is as it should be")
